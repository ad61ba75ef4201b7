// A job on texts through the whole system: the words of its ids are in the downloaded model, and
// are there again when a later job begins with its checkpoint.
#include <algorithm>
#include <catch2/catch.hpp>

#include "schemas/wire/safetensors.h"
#include "tests/e2e/yard.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

nlohmann::json text_spec(const std::string& path, int max_steps) {
  return {{"model", {{"name", "lstm_classifier"}, {"embedding_size", 4}, {"units", 4}}},
          {"dataset",
           {{"name", "notes"},
            {"format", "text"},
            {"path", path},
            {"tokenizer", {{"name", "words"}, {"vocabulary", 12}}},
            {"length", 8},
            {"buckets", {4, 8}}}},
          {"roles", {{"ps", 2}, {"worker", 2}}},
          {"training", {{"batch_size", 4}, {"max_steps", max_steps}}}};
}

std::string notes() {
  std::string csv = "text,label\n";
  for (int i = 0; i < 60; ++i) {
    csv += i % 2 == 0 ? "all is well here,good\n" : "it is bad and goes on and on,bad\n";
  }
  return csv;
}

// The lines of the tensor "vocabulary", which is the last.
std::string words_of(const std::string& model) {
  const auto header = decode_safetensors_header(model, std::ssize(model));
  REQUIRE(header);
  const SafetensorsEntry& last = header->entries.back();
  REQUIRE(last.name == "vocabulary");
  CHECK(last.dtype == "U8");
  return model.substr(static_cast<std::size_t>(header->data_start + last.begin));
}

}  // namespace

TEST_CASE("a downloaded model of texts has the words of its ids", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string path = yard.folder().write("notes.csv", notes());

  const std::string first = yard.submit(text_spec(path, 8));
  yard.wait_for_state(first, "succeeded");
  const std::string words = words_of(yard.model_file(first));
  CHECK(words.starts_with("<padding>\n<unknown>\n"));
  CHECK(std::ranges::count(words, '\n') == 11);  // of 9 words, and the two that are none

  nlohmann::json later = text_spec(path, 12);
  later["checkpoint"] = {{"resume_from", first + "/8"}};
  const std::string second = yard.submit(later);
  yard.wait_for_state(second, "succeeded");
  CHECK(words_of(yard.model_file(second)) == words);

  std::string changed = notes();
  for (int i = 0; i < 20; ++i) changed += "news is new,good\n";
  yard.folder().write("notes.csv", changed);
  const std::string third = yard.submit(later);
  const auto job = yard.wait_for_state(third, "failed");
  CHECK(job.at("status").at("reason") == "CHECKPOINT_MISMATCH");
}
