// Jobs with several embedding tables of different widths: the same rows, whoever learns them.
#include <catch2/catch.hpp>

#include "runtime/core/counter_rng.h"
#include "runtime/files/row_tensors.h"
#include "schemas/files/sha256.h"
#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/models.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::run, test::small_job;

// Whether user u likes item i is the sign of a product of two hidden numbers.
std::string likes(std::int64_t count) {
  const CounterRng rng(5, RngStream::synthetic);
  const auto hidden = [&rng](std::uint64_t who) { return rng.normal(1'000'000 + who); };
  std::string text;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::uint64_t user = rng.bits(static_cast<std::uint64_t>(2 * n)) % 40;
    const std::uint64_t item = rng.bits(static_cast<std::uint64_t>(2 * n + 1)) % 30;
    const bool likes = hidden(user) * hidden(100 + item) > 0;
    text += "u" + std::to_string(user) + "," + std::to_string(item) + "," +
            std::to_string(item % 3) + "," + (likes ? "1\n" : "0\n");
  }
  return text;
}

// Rows of user and item, and of the item's two columns a second and a third table.
JobSpec recsys_job(const TempFolder& folder) {
  JobSpec spec = small_job();
  spec.dataset = {};
  spec.dataset.name = "likes";
  spec.dataset.format = "recsys";
  spec.dataset.path = folder.write("likes.csv", likes(2000));
  spec.dataset.label_column = "3";
  spec.dataset.recsys = {.fields = {{.field = "item", .columns = {"1", "2"}},
                                    {.field = "user", .columns = {"0"}, .is_single = true}},
                         .vocabulary = 1000,
                         .has_label = true};
  const auto rows = [](const char* name, const char* from, int size) {
    model::Layer layer = model::op("embedding", {{"size", size}, {"storage", "rows"}});
    layer.name = name;
    layer.in = {from};
    return layer;
  };
  model::Layer flat = model::op("flatten");
  flat.in = {"i"};
  flat.name = "flat";
  model::Layer joined = model::op("concat");
  joined.in = {"u", "flat", "w"};
  spec.model = model::Model{
      .inputs = {{"item_ids", "item"}, {"user_id", "user"}},
      .layers = {rows("u", "user_id", 6), rows("i", "item_ids", 4), rows("w", "user_id", 1), flat,
                 joined, model::op("dense", {{"units", 16}, {"activation", "tanh"}}),
                 model::op("dense", {{"units", 1}})},
      .losses = {{.op = "sigmoid_cross_entropy"}},
      .metrics = {{.op = "accuracy"}}};
  spec.training.optimizer.learning_rate = 0.03;
  spec.training.global_batch_size = 48;
  spec.training.micro_batch_size = 4;
  spec.training.max_steps = 150;
  return spec;
}

struct LearnedTables {
  std::vector<std::vector<std::int64_t>> ids;  // by table
  std::vector<float> rows;                     // with their slots
  std::vector<float> weights;
  bool operator==(const LearnedTables&) const = default;
};

LearnedTables tables_of(const Job& job) {
  const auto checkpoint = job.newest_checkpoint();
  REQUIRE(checkpoint);
  RowTables tables({{{.name = "u/kernel", .columns = 6},
                     {.name = "i/kernel", .columns = 4, .table = 1},
                     {.name = "w/kernel", .columns = 1}}},
                   1, {.kind = OptimizerKind::adam});
  const std::vector<std::string> slots{"m", "v"};
  const Status restored = restore_rows(
      {.folder = checkpoint->folder, .files = checkpoint->shards, .slot_names = slots}, tables);
  if (!restored.has_value()) FAIL(restored.error().message);
  LearnedTables learned{.ids = {}, .rows = {}, .weights = job.final_weights()};
  for (std::int64_t number = 0; number < 2; ++number) {
    const RowTable& table = tables.table(number);
    std::vector<std::int64_t>& ids = learned.ids.emplace_back();
    for (const RowTable::Stored& row : table.stored()) {
      ids.push_back(row.id);
      learned.rows.insert(learned.rows.end(), row.floats, row.floats + table.stride());
    }
  }
  return learned;
}

LearnedTables train_tables(const JobSpec& spec, std::optional<RestoreFrom> from = std::nullopt) {
  Job job(spec, std::move(from));
  run(job);
  return tables_of(job);
}

void put_tables(JobSpec& spec, std::int64_t workers, std::int64_t ps) {
  spec.worker.replicas = workers;
  spec.ps.replicas = ps;
  if (ps == 0) spec.training.strategy = Strategy::all_reduce;
  if (ps == 0 && workers == 1) spec.training.strategy = Strategy::local;
}

double accuracy_of(const Job& job) {
  double accuracy = 0;
  for (const RunEvent& event : job.events("worker/0")) {
    const auto* const metric = std::get_if<MetricEvent>(&event.what);
    if (metric == nullptr || !metric->values.contains("test_accuracy")) continue;
    accuracy = metric->values.at("test_accuracy");
  }
  return accuracy;
}

}  // namespace

TEST_CASE("workers, ps and strategies change no bit of several embedding tables", "[job][recsys]") {
  const TempFolder folder;
  JobSpec spec = recsys_job(folder);
  put_tables(spec, 2, 1);
  const LearnedTables expected = train_tables(spec);
  CHECK(expected.ids[0].size() == 40);
  CHECK(expected.ids[1].size() == 33);
  using Shapes = std::vector<std::pair<int, int>>;
  for (const auto& [workers, ps] : either<Shapes>({{1, 1}, {3, 2}, {2, 0}, {1, 0}}, {{3, 2}})) {
    INFO(workers << " workers, " << ps << " ps");
    JobSpec other = spec;
    put_tables(other, workers, ps);
    CHECK(train_tables(other) == expected);
  }
}

TEST_CASE("several embedding tables go on from a checkpoint on another number of ps",
          "[job][recsys]") {
  const TempFolder folder;
  JobSpec spec = recsys_job(folder);
  put_tables(spec, 2, 3);
  const LearnedTables expected = train_tables(spec);
  JobSpec half = spec;
  half.training.max_steps = 60;
  put_tables(half, 3, 2);
  Job first(half);
  run(first);
  CHECK(train_tables(spec, first.newest_checkpoint()) == expected);
}

TEST_CASE("async workers learn several embedding tables", "[job][recsys]") {
  const TempFolder folder;
  JobSpec spec = recsys_job(folder);
  spec.training.global_batch_size = spec.training.micro_batch_size = std::nullopt;
  spec.training.batch_size = 32;
  spec.mode = Mode::async;
  spec.training.max_steps = 900;
  put_tables(spec, 3, 2);
  Job job(spec);
  run(job);
  CHECK(accuracy_of(job) >= 0.85);
}

TEST_CASE("a checkpoint has the values of its ids, and is not taken for those of another file",
          "[job][recsys]") {
  const TempFolder folder;
  JobSpec spec = recsys_job(folder);
  put_tables(spec, 1, 0);
  spec.training.max_steps = 4;
  Job first(spec);
  run(first);
  const auto saved = test::last_of<ManifestEvent>(first, "worker/0");
  REQUIRE(saved.vocabulary);
  const std::string values = content_of(first.folder("worker/0") + "/" + saved.vocabulary->name);
  CHECK(saved.vocabulary->sha256 == sha256_hex(values));
  CHECK(values.starts_with("field,column,id,value\nitem,1,0,\nitem,1,1,"));
  CHECK_THAT(values, Catch::Matchers::Contains("\nuser,0,0,\nuser,0,1,u"));

  spec.training.max_steps = 6;
  Job rest(spec, first.newest_checkpoint());
  run(rest);
  CHECK(test::last_of<ManifestEvent>(rest, "worker/0").vocabulary->sha256 ==
        saved.vocabulary->sha256);

  const auto mismatch_of = [&first](const JobSpec& other) {
    Job job(other, first.newest_checkpoint());
    job.start();
    job.wait_all();
    const auto failure = test::last_of<FailureEvent>(job, "worker/0");
    CHECK(failure.reason == "CHECKPOINT_MISMATCH");
    return failure.message;
  };
  JobSpec hashed = spec;
  hashed.dataset.recsys.vocabulary = 0;
  hashed.dataset.recsys.hash_buckets = 1000;
  CHECK_THAT(mismatch_of(hashed), Catch::Matchers::Contains("has a vocabulary"));

  // As many values, of which one has another name.
  std::string text = likes(2000);
  for (std::size_t at = 0; (at = text.find("u7,", at)) != std::string::npos; ++at) text[at] = 'v';
  folder.write("likes.csv", text);
  CHECK_THAT(mismatch_of(spec), Catch::Matchers::Contains("is of other ids"));
}

TEST_CASE("a checkpoint of hashes is not taken for one of other ids", "[job][recsys]") {
  const TempFolder folder;
  JobSpec spec = recsys_job(folder);
  put_tables(spec, 1, 0);
  spec.dataset.recsys.vocabulary = 0;
  spec.dataset.recsys.hash_buckets = 1000;
  spec.training.max_steps = 4;
  Job first(spec);
  run(first);
  CHECK_FALSE(test::last_of<ManifestEvent>(first, "worker/0").vocabulary);
  spec.training.max_steps = 6;
  Job rest(spec, first.newest_checkpoint());
  run(rest);

  const auto check_refused = [&](const RecsysSpec& recsys, const std::string& words) {
    JobSpec other = spec;
    other.dataset.recsys = recsys;
    Job job(other, first.newest_checkpoint());
    job.start();
    job.wait_all();
    const auto failure = test::last_of<FailureEvent>(job, "worker/0");
    CHECK(failure.reason == "CHECKPOINT_MISMATCH");
    CHECK_THAT(failure.message, Catch::Matchers::Contains(words));
  };
  RecsysSpec more = spec.dataset.recsys;
  more.hash_buckets = 2000;
  check_refused(more, "hashes below 1000, and not those of dataset.hash_buckets 2000");
  RecsysSpec counted = spec.dataset.recsys;
  counted.hash_buckets = 0;
  counted.vocabulary = 1000;
  check_refused(counted, "hashes below 1000, and not those of dataset.vocabulary");
}

namespace {

JobSpec zoo_job(const TempFolder& folder, const std::string& members) {
  const std::string path = folder.write("likes.csv", likes(3000));
  const auto parsed = parse_job_spec(
      R"({"dataset": {"name": "likes", "format": "recsys", "path": ")" + path + "\", " + members);
  return test::with_tasks(parsed, 2, 1);
}

std::map<std::string, double> end_of(JobSpec spec) {
  Job job(std::move(spec));
  run(job);
  std::map<std::string, double> values;
  for (const MetricEvent& event : test::all_of<MetricEvent>(job, "worker/0")) {
    for (const auto& [name, value] : event.values) values[name] = value;
  }
  return values;
}

}  // namespace

TEST_CASE("a DeepFM tells what is liked, by the area under its curve", "[job][recsys]") {
  const TempFolder folder;
  const auto values = end_of(zoo_job(folder, R"("categorical": "0-1", "label_column": 3,
      "hash_buckets": 1000}, "mode": "async",
      "model": {"name": "deepfm", "embedding_size": 4, "hidden": [16]},
      "training": {"batch_size": 32, "max_steps": 600,
                   "optimizer": {"name": "adagrad", "learning_rate": 0.1}}})"));
  CHECK(values.at("test_auc") >= 0.9);
  CHECK(values.at("test_accuracy") >= 0.8);
  CHECK_FALSE(values.contains("auc"));
}

TEST_CASE("two towers find what goes together", "[job][recsys]") {
  const TempFolder folder;
  // The item's number and its remainder by 3: of ten kinds of items with a remainder one is right.
  const auto values = end_of(zoo_job(folder, R"("categorical": {"user": 1, "item": [1, 2]},
      "vocabulary": 100},
      "model": {"layers": [
        {"op": "embedding", "size": 8, "storage": "rows", "in": "user"},
        {"op": "dense", "units": 8}, {"op": "l2_normalize", "name": "u"},
        {"op": "embedding", "size": 6, "storage": "rows", "in": "item"}, "flatten",
        {"op": "dense", "units": 8}, {"op": "l2_normalize", "name": "i"}],
        "inputs": {"user": "user", "item": "item"},
        "loss": {"op": "in_batch_softmax", "in": ["u", "i"], "temperature": 0.1},
        "metrics": [{"op": "recall", "k": 2}]},
      "training": {"global_batch_size": 128, "micro_batch_size": 32, "max_steps": 200,
                   "optimizer": {"name": "adam", "learning_rate": 0.02}}})"));
  CHECK(values.at("test_recall_2") >= 0.9);  // of 30 items; by chance 0.07
  CHECK(values.at("recall_2") >= 0.5);
}

}  // namespace trainyard::runtime
