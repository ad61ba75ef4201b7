#include "tests/schemas/model/reading.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "schemas/wire/model_json.h"

namespace trainyard::model {
namespace {

Field image(Sizes sizes) { return {.name = "image", .shape = std::move(sizes)}; }

Field ids(std::string name, Sizes sizes, std::int64_t count) {
  return {
      .name = std::move(name), .shape = std::move(sizes), .kind = ElementKind::id, .ids = count};
}

std::map<std::string, Facts> make_facts() {
  const auto classes = [](std::string name, Field field, std::int64_t count) {
    return Facts{.dataset = std::move(name),
                 .fields = {std::move(field)},
                 .label_kind = LabelKind::class_index,
                 .classes = count};
  };
  std::map<std::string, Facts> all;
  all["cifar"] = classes("cifar10", image({32, 32, 3}), 10);
  all["birds"] = classes("birds", image({224, 224, 3}), 1000);
  all["digits"] = classes("digits", image({28, 28, 1}), 10);
  all["folder"] = classes("folder", image({unknown_size, unknown_size, 3}), unknown_size);
  all["vectors"] = classes("vectors", {.name = "features", .shape = Sizes{20}}, 2);
  all["vectors"].features = 20;
  all["series"] = classes("series", {.name = "features", .shape = Sizes{28, 28}}, 10);
  all["reviews"] = classes("reviews", ids("tokens", {256}, 20000), 2);
  all["reviews"].vocabulary = 20000;
  all["lines"] = {.dataset = "lines",
                  .fields = {image({32, 128, 1})},
                  .label_kind = LabelKind::symbols,
                  .symbols = 11,
                  .features = 4096};
  all["web"] = {.dataset = "web",
                .fields = {ids("tokens", {1024}, 50257)},
                .label_kind = LabelKind::tokens,
                .vocabulary = 50257};
  all["criteo"] = {
      .dataset = "criteo",
      .fields = {{.name = "numeric", .shape = Sizes{13}}, ids("categorical", {26}, 1'000'000'000)},
      .label_kind = LabelKind::class_index,
      .classes = 2};
  all["ratings"] = {.dataset = "movielens",
                    .fields = {ids("userId", {}, 1000), ids("movieId", {}, 2000)},
                    .label_kind = LabelKind::none};
  all["numbers"] = {.dataset = "numbers",
                    .fields = {{.name = "features", .shape = Sizes{8}}},
                    .label_kind = LabelKind::number,
                    .features = 8};
  all["csv"] = {.dataset = "csv",
                .fields = {{.name = "features", .shape = Sizes{unknown_size}}},
                .classes = unknown_size,
                .features = unknown_size};
  all["sparse"] = classes(
      "sparse", {.name = "features", .shape = Sizes{100'000}, .kind = ElementKind::sparse}, 2);
  return all;
}

}  // namespace

Facts facts_of(const std::string& dataset) {
  static const std::map<std::string, Facts> all = make_facts();
  INFO(dataset);
  REQUIRE(all.contains(dataset));
  return all.at(dataset);
}

Written read_written(const nlohmann::json& json) {
  std::vector<Fault> faults;
  auto written = parse_model(json, "/model", faults);
  INFO(to_lines(faults));
  REQUIRE(written.has_value());
  REQUIRE(faults.empty());
  return *std::move(written);
}

Analysis analyse_json(const nlohmann::json& json, const Facts& facts, const Setting& setting) {
  std::vector<Fault> faults;
  const auto written = parse_model(json, setting.pointer, faults);
  Analysis analysis;
  if (written) analysis = analyse(*written, facts, setting);
  analysis.faults.insert(analysis.faults.begin(), faults.begin(), faults.end());
  return analysis;
}

std::string read_text_file(const std::string& name) {
  std::ifstream file("tests/schemas/model/" + name);
  INFO(name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json read_json_file(const std::string& name) {
  return nlohmann::json::parse(read_text_file(name));
}

std::string to_lines(const std::vector<Fault>& faults) {
  std::string lines;
  for (const Fault& fault : faults) lines += fault.pointer + ": " + fault.message + '\n';
  return lines;
}

}  // namespace trainyard::model
