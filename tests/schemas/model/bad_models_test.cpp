// Models with faults: a committed table of them with what is to be said where, and mutations of
// right ones, which may be anything but a crash.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <sstream>

#include "schemas/model/fault_list.h"
#include "tests/schemas/model/reading.h"

using namespace trainyard;
using namespace trainyard::model;
using nlohmann::json;

namespace {

Setting setting_of(const json& bad) {
  Setting setting{.micro_batch = bad.value("micro_batch", std::int64_t{16})};
  if (bad.contains("memory_mb")) setting.worker_memory_mb = bad["memory_mb"].get<std::int64_t>();
  if (bad.contains("ps_memory_mb")) setting.ps_memory_mb = bad["ps_memory_mb"].get<std::int64_t>();
  return setting;
}

std::vector<std::string> sorted_pointers(const std::vector<Fault>& faults) {
  std::vector<std::string> pointers;
  for (const Fault& fault : faults) pointers.push_back(fault.pointer);
  std::ranges::sort(pointers);
  return pointers;
}

// Changes one value somewhere: another kind, a huge number, a twin, nothing.
class Mutation {
 public:
  explicit Mutation(std::uint64_t seed) : engine_(seed) {}

  void apply(json& model) {
    std::vector<json*> values;
    collect(model, values);
    json& value = *values[pick(values.size())];
    switch (pick(9)) {
      case 0: value = nullptr; break;
      case 1: value = -1; break;
      case 2: value = 1e300; break;
      case 3: value = 2'147'483'647; break;
      case 4: value = "$d"; break;
      case 5: value = json::array({value, value}); break;
      case 6: value = json{{"repeat", 1024}, {"layers", json::array({value})}}; break;
      case 7: value = *values[pick(values.size())]; break;
      default: shorten(value);
    }
  }

 private:
  std::size_t pick(std::size_t count) { return engine_() % count; }

  void shorten(json& value) {
    if (value.is_array() && !value.empty()) {
      value.erase(value.begin() + static_cast<std::ptrdiff_t>(pick(value.size())));
    } else if (value.is_object() && !value.empty()) {
      value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(pick(value.size()))));
    } else if (value.is_string() && !value.get_ref<std::string&>().empty()) {
      value.get_ref<std::string&>().pop_back();
    }
  }

  void collect(json& value, std::vector<json*>& values) {
    values.push_back(&value);
    for (json& child : value) {
      if (value.is_structured()) collect(child, values);
    }
  }

  std::mt19937_64 engine_;
};

}  // namespace

TEST_CASE("each bad model of the table has its faults where they were written, and no others",
          "[model]") {
  std::istringstream table(read_text_file("bad_models.jsonl"));
  std::string line;
  std::size_t count = 0;
  while (std::getline(table, line)) {
    const json bad = json::parse(line);
    const Analysis analysis = analyse_json(bad["model"], facts_of(bad["dataset"]), setting_of(bad));

    INFO(line << '\n' << to_lines(analysis.faults));
    std::vector<std::string> pointers;
    for (const json& fault : bad["faults"]) pointers.push_back(fault[0]);
    std::ranges::sort(pointers);
    REQUIRE(sorted_pointers(analysis.faults) == pointers);
    for (const json& fault : bad["faults"]) {
      const std::string pointer = fault[0];
      const std::string part = fault[1];
      REQUIRE(std::ranges::any_of(analysis.faults, [&](const Fault& one) {
        return one.pointer == pointer && one.message.find(part) != std::string::npos;
      }));
    }
    ++count;
  }
  CHECK(count >= 250);
}

TEST_CASE("a model that was changed at random is right or has faults within it", "[model]") {
  const std::vector<std::pair<std::string, std::string>> examples{
      {"cifar_cnn", "cifar"},  {"resnet18", "birds"}, {"lstm_reviews", "reviews"},
      {"text_lines", "lines"}, {"gpt2_small", "web"}, {"deepfm", "criteo"},
      {"two_tower", "ratings"}};
  for (const auto& [file, dataset] : examples) {
    const json right = read_json_file("examples/" + file + ".json");
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      CAPTURE(file, seed);
      json model = right;
      Mutation mutation(seed);
      for (std::uint64_t i = 0; i <= seed % 4; ++i) mutation.apply(model);

      const Analysis analysis = analyse_json(model, facts_of(dataset), {.micro_batch = 16});

      REQUIRE(analysis.layers.size() <= static_cast<std::size_t>(layers_max) + 2);
      REQUIRE(analysis.faults.size() <= 2 * faults_max + 1);
      for (const Fault& fault : analysis.faults) {
        REQUIRE(fault.pointer.starts_with("/model"));
        REQUIRE_FALSE(fault.message.empty());
      }
    }
  }
}

TEST_CASE("blocks of blocks and repeats of repeats end at the limit of layers", "[model]") {
  json blocks = json::object();
  for (int i = 0; i < 15; ++i) {
    json layers = json::array();
    const std::string next = "b" + std::to_string(i + 1);
    for (int j = 0; j < 64; ++j) layers.push_back({{"use", next}, {"f", "$f"}});
    blocks["b" + std::to_string(i)] = {{"parameters", {"f"}}, {"layers", layers}};
  }
  blocks["b15"] = {{"parameters", {"f"}}, {"layers", {{{"op", "dense"}, {"units", "$f"}}}}};
  const json model{{"blocks", blocks},
                   {"layers", {{{"use", "b0"}, {"f", 4}}}},
                   {"loss", "softmax_cross_entropy"}};

  const Analysis analysis = analyse_json(model, facts_of("vectors"));

  CHECK_FALSE(analysis.faults.empty());
  CHECK(analysis.layers.size() <= static_cast<std::size_t>(layers_max) + 1);
}

TEST_CASE("repeats of nothing end too", "[model]") {
  Layers layers;
  for (int i = 0; i < 8; ++i) layers = {repeat(1024, layers)};
  Model model;
  model.layers = {repeat("$n", layers), op("dense", {{"units", 2}})};
  model.define = {{"n", 1024}};
  model.losses = {{.op = "softmax_cross_entropy"}};

  const Analysis analysis = analyse(model, facts_of("vectors"), {});

  CHECK_FALSE(analysis.faults.empty());
}

TEST_CASE("thousands of names that nobody has cost no more than their faults", "[model]") {
  json layers = json::array();
  for (int i = 0; i < 1000; ++i) {
    layers.push_back({{"op", "relu"}, {"in", "name_" + std::to_string(i)}});
  }
  const json model{{"layers", {{{"repeat", 4}, {"layers", layers}}, "relu"}},
                   {"loss", "softmax_cross_entropy"}};

  const Analysis analysis = analyse_json(model, facts_of("vectors"));

  CHECK(analysis.faults.size() == faults_max);
}
