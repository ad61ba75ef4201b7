// Jobs on texts: embeddings and recurrences that stop where a text ends, whoever computes them.
#include <catch2/catch.hpp>

#include "schemas/files/sha256.h"
#include "schemas/wire/checkpoint_json.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime::test {
namespace {

// Reviews of a few words; "good" ones and "bad" ones differ by a word or two.
void write_reviews(const TempFolder& folder) {
  std::string csv = "text,label\n";
  const std::vector<std::string> things{"film", "book", "song", "play", "dish"};
  for (int i = 0; i < 200; ++i) {
    const bool is_good = i % 2 == 0;
    csv += "the " + things[static_cast<std::size_t>(i % 5)];
    for (int more = 0; more < i % 7; ++more) csv += " and so on";
    csv += is_good ? " was good,yes\n" : " was bad,no\n";
  }
  folder.write("reviews.csv", csv);
}

JobSpec text_job(const TempFolder& folder, std::int64_t workers, std::int64_t ps) {
  const std::string path = folder.path("reviews.csv");
  const auto parsed = parse_job_spec(
      R"({"model": {"name": "lstm_classifier", "embedding_size": 8, "units": 6,
                    "embedding_dropout": 0.1},
          "dataset": {"name": "reviews", "format": "text", "path": ")" +
      path + R"(",
                      "text_column": "text", "label_column": "label", "length": 24,
                      "tokenizer": {"name": "words", "vocabulary": 100}},
          "training": {"global_batch_size": 24, "micro_batch_size": 4, "max_steps": 60,
                       "optimizer": {"name": "adam", "learning_rate": 0.02}}})");
  return with_tasks(parsed, workers, ps);
}

}  // namespace

TEST_CASE("a recurrent network learns to tell texts apart, the same for any number of processes",
          "[job]") {
  const TempFolder folder;
  write_reviews(folder);
  Job alone(text_job(folder, 1, 0));
  run(alone);
  const auto last = last_of<MetricEvent>(alone, "worker/0").values;
  REQUIRE(last.contains("test_accuracy"));
  CHECK(last.at("test_accuracy") >= 0.9);
  for (const auto& [workers, ps] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 1}, {3, 2}, {3, 0}}) {
    INFO(workers << " workers, " << ps << " ps");
    Job shared(text_job(folder, workers, ps));
    run(shared);
    CHECK(shared.final_weights() == alone.final_weights());
  }
}

TEST_CASE("with buckets a job's bytes are the same for any number of processes", "[job]") {
  const TempFolder folder;
  write_reviews(folder);
  const auto with_buckets = [&folder](std::int64_t workers, std::int64_t ps) {
    JobSpec spec = text_job(folder, workers, ps);
    spec.dataset.sequence.buckets = {4, 12, 24};
    return spec;
  };
  Job alone(with_buckets(1, 0));
  run(alone);
  Job plain(text_job(folder, 1, 0));
  run(plain);
  const auto losses = [](const Job& job) {
    return last_of<MetricEvent>(job, "worker/0").values.at("test_loss");
  };
  // 60 steps whose sums are rounded otherwise.
  CHECK(losses(alone) == Approx(losses(plain)).epsilon(1e-3));
  Job shared(with_buckets(3, 2));
  run(shared);
  CHECK(shared.final_weights() == alone.final_weights());
}

TEST_CASE("a checkpoint has the words of its ids, and is not taken for those of other texts",
          "[job]") {
  const TempFolder folder;
  write_reviews(folder);
  JobSpec spec = text_job(folder, 1, 0);
  spec.training.max_steps = 4;
  Job first(spec);
  run(first);
  const auto saved = last_of<ManifestEvent>(first, "worker/0");
  REQUIRE(saved.vocabulary);
  const auto manifest =
      parse_manifest(content_of(first.folder("worker/0") + "/" + saved.manifest.name));
  REQUIRE(manifest);
  CHECK(manifest->description.at("class_names") == R"(["no","yes"])");
  const std::string words = content_of(first.folder("worker/0") + "/" + saved.vocabulary->name);
  CHECK(saved.vocabulary->name == "step-4/vocabulary.txt");
  CHECK(saved.vocabulary->sha256 == sha256_hex(words));
  CHECK(words.starts_with("<padding>\n<unknown>\nand\non\nso\nthe\nwas\n"));

  spec.training.max_steps = 6;
  Job rest(spec, first.newest_checkpoint());
  run(rest);
  CHECK(last_of<ManifestEvent>(rest, "worker/0").vocabulary->sha256 == saved.vocabulary->sha256);

  const auto refusal_with = [&](const std::string& reviews) {
    folder.write("reviews.csv", reviews);
    Job other(spec, first.newest_checkpoint());
    other.start();
    CHECK(other.wait_all() == Codes{{"worker/0", 1}});
    const auto failure = last_of<FailureEvent>(other, "worker/0");
    CHECK(failure.reason == "CHECKPOINT_MISMATCH");
    return failure.message;
  };
  const std::string reviews = content_of(folder.path("reviews.csv"));
  std::string renamed = reviews;
  for (std::size_t at = 0; (at = renamed.find(",no\n", at)) != std::string::npos;) {
    renamed.replace(at, 4, ",zzz\n");
  }
  CHECK_THAT(refusal_with(renamed), Catch::Matchers::Contains("is of other classes"));
  std::string csv = reviews;
  for (int i = 0; i < 20; ++i) csv += "was it was,yes\n";
  CHECK_THAT(refusal_with(csv), Catch::Matchers::Contains("is of other words"));
}

}  // namespace trainyard::runtime::test
