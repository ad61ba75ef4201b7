// The part "dataset" alone: what is not a job's yet is read and written all the same.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/schemas/json_schema.h"
#include "tests/schemas/wire/random_values.h"
#include "tests/schemas/wire/spec_corpus.h"

using namespace trainyard;
using nlohmann::json;

namespace {

DatasetSpec read_spec(const json& value) {
  std::vector<Fault> faults;
  DatasetSpec dataset = read_dataset({value, "/dataset", faults});
  for (const Fault& fault : faults) UNSCOPED_INFO(fault.pointer << " " << fault.message);
  CHECK(faults.empty());
  return dataset;
}

}  // namespace

TEST_CASE("every data set is read as it was written", "[wire]") {
  RandomValues random(11);
  for (int i = 0; i < 400; ++i) {
    const DatasetSpec dataset = random.dataset();
    const json value = dataset_to_json(dataset);
    INFO(value.dump());
    CHECK(read_spec(value) == dataset);
  }
}

TEST_CASE("nothing is wrong with specs of sequences, and the schema says the same", "[wire]") {
  std::ifstream file("schemas/job.schema.json");
  REQUIRE(file.good());
  const JsonSchema schema(json::parse(file));
  for (const SpecCase& each : good_sequences()) {
    const std::string complaint = schema.complaint(json::parse(each.text));
    INFO(each.text << "\n" << complaint);
    CHECK(complaint.empty());
    const ParsedJobSpec result = parse_job_spec(each.text);
    const auto* faults = std::get_if<std::vector<Fault>>(&result);
    for (const Fault& fault : faults == nullptr ? std::vector<Fault>{} : *faults) {
      UNSCOPED_INFO(fault.pointer << " " << fault.message);
      CHECK(fault.kind == FaultKind::not_yet);
    }
    const json dataset = json::parse(each.text)["dataset"];
    const json written = dataset_to_json(read_spec(dataset));
    CHECK(dataset_to_json(read_spec(written)) == written);
  }
}

TEST_CASE("the defaults of data sets of sequences", "[wire]") {
  const auto read_text = [](const char* text) { return read_spec(json::parse(text)); };
  const DatasetSpec text = read_text(R"({"name": "t", "format": "text", "path": "/t"})");
  CHECK(text.sequence.text_column == "text");
  CHECK(text.label_column == "label");
  CHECK(text.sequence.length == 256);
  CHECK(text.sequence.tokenizer == TokenizerSpec{.vocabulary = 20'000});
  const DatasetSpec tokens = read_text(R"({"name": "t", "format": "tokens", "path": "/t"})");
  CHECK(tokens.sequence.tokenizer.name == TokenizerName::bytes);
  CHECK(tokens.sequence.storage == TokenStorage::text);
  const DatasetSpec lines = read_text(R"({"name": "synthetic_lines"})");
  CHECK(lines.format == "synthetic_lines");
  CHECK(lines.train_examples == 20'000);
  const DatasetSpec images = read_text(R"({"name": "t", "format": "image_lines", "path": "/t",
                                           "size": [8, 9], "alphabet": "ab"})");
  CHECK(images.channels == 1);
}

TEST_CASE("texts may have several lengths, of which the last is the length", "[wire]") {
  const DatasetSpec spec = read_spec(json::parse(
      R"({"name": "t", "format": "text", "path": "/t", "length": 128, "buckets": [64, 128]})"));
  CHECK(spec.sequence.buckets == std::vector<std::int64_t>{64, 128});
}
