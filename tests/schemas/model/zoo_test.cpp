// The zoo's models on data sets that fit them: nothing is at fault, they have as many parameters as
// PyTorch's own modules (tests/golden/make_zoo.py), and today's variables.
#include "schemas/model/zoo/zoo.h"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schemas/model/analysis.h"
#include "schemas/wire/model_json.h"
#include "tests/golden/golden.h"

namespace trainyard::model {
namespace {

using nlohmann::json;

// The facts as make_zoo.py writes them.
Facts facts_of(const json& written) {
  Facts facts;
  facts.dataset = "golden";
  const auto add = [&](const char* name, Sizes shape, ElementKind kind, std::int64_t ids) {
    facts.fields.push_back({name, std::move(shape), kind, ids});
  };
  for (const auto& [key, value] : written.items()) {
    if (key == "features") {
      facts.features = value.get<std::int64_t>();
      add("features", {*facts.features}, ElementKind::number, unknown_size);
    } else if (key == "sparse") {
      facts.features = value.get<std::int64_t>();
      add("features", {*facts.features}, ElementKind::sparse, unknown_size);
    } else if (key == "image") {
      add("image", value.get<Sizes>(), ElementKind::number, unknown_size);
    } else if (key == "tokens") {
      add("tokens", {value.get<std::int64_t>()}, ElementKind::id, written.at("vocabulary"));
    } else if (key == "numeric") {
      add("numeric", {value.get<std::int64_t>()}, ElementKind::number, unknown_size);
    } else if (key == "categorical") {
      add("categorical", {value.get<std::int64_t>()}, ElementKind::id, 1'000'000);
    } else if (key == "user" || key == "item") {  // one id an example
      add(key.c_str(), {}, ElementKind::id, value.get<std::int64_t>());
    }
  }
  const auto fact = [&](const char* name, std::optional<std::int64_t>& out, LabelKind kind) {
    if (!written.contains(name)) return;
    out = written.at(name).get<std::int64_t>();
    if (facts.label_kind == LabelKind::unknown) facts.label_kind = kind;
  };
  fact("classes", facts.classes, LabelKind::class_index);
  fact("symbols", facts.symbols, LabelKind::symbols);
  fact("vocabulary", facts.vocabulary, LabelKind::tokens);
  if (written == json{{"features", 13}}) facts.label_kind = LabelKind::number;
  if (written.contains("categorical")) {
    facts.classes = 2;
    facts.label_kind = LabelKind::class_index;
  }
  if (written.contains("user")) facts.label_kind = LabelKind::none;
  return facts;
}

Written call_of(const json& golden) {
  json call = golden.at("arguments");
  call["name"] = golden.at("name");
  std::vector<Fault> faults;
  auto written = parse_model(call, "/model", faults);
  REQUIRE(written);
  return *std::move(written);
}

std::vector<std::string> variables_of(std::string_view call, const char* facts) {
  const json golden = json::parse(call);
  const Analysis analysis = analyse(call_of(golden), facts_of(json::parse(facts)), {});
  CHECK(analysis.faults.empty());
  std::vector<std::string> names;
  for (const Variable& variable : analysis.variables) names.push_back(variable.name);
  return names;
}

std::string fault_of(const json& golden) {
  const Analysis analysis =
      analyse(call_of(golden), facts_of(golden.at("facts")), {.micro_batch = 16});
  REQUIRE(!analysis.faults.empty());
  std::string text = analysis.faults.front().pointer;
  text.append(1, ' ').append(analysis.faults.front().message);
  return text;
}

}  // namespace

TEST_CASE("each model of the zoo has the parameters of PyTorch's modules", "[zoo]") {
  const json cases = load_golden("zoo.json");
  CHECK(cases.size() >= 30);
  for (const json& golden : cases) {
    INFO(golden.dump());
    const Analysis analysis =
        analyse(call_of(golden), facts_of(golden.at("facts")), {.micro_batch = 16, .ps = 2});

    for (const Fault& fault : analysis.faults) FAIL_CHECK(fault.pointer + " " + fault.message);
    CHECK(analysis.parameters == golden.at("parameters").get<std::int64_t>());
    CHECK(analysis.forward_flops.value_or(0) > 0);
    CHECK(analysis.worker.total.value_or(0) > 0);
  }
}

TEST_CASE("a model of the zoo is the same when it is printed and read", "[zoo]") {
  for (const json& golden : load_golden("zoo.json")) {
    INFO(golden.dump());
    const Facts facts = facts_of(golden.at("facts"));
    std::vector<Fault> faults;
    const Model model = make_zoo_model(std::get<ZooCall>(call_of(golden)), facts, "", faults);
    const auto again = parse_model(json::parse(print_model(model)), "/model", faults);
    REQUIRE(faults.empty());

    const Analysis analysis = analyse(*again, facts, {});
    CHECK(analysis.faults.empty());
    CHECK(analysis.parameters == golden.at("parameters").get<std::int64_t>());
  }
}

TEST_CASE("where no file was read yet, a model of the zoo has no fault and no known size",
          "[zoo]") {
  Facts facts;
  facts.dataset = "unread";
  facts.fields_are_known = false;
  facts.classes = facts.symbols = facts.vocabulary = facts.features = unknown_size;
  for (const ZooModel& model : zoo()) {
    INFO(model.name);
    const Analysis analysis = analyse(Written(ZooCall{std::string(model.name)}), facts, {});

    for (const Fault& fault : analysis.faults) FAIL_CHECK(fault.pointer + " " + fault.message);
    CHECK_FALSE(analysis.parameters);
    CHECK_FALSE(analysis.worker.total);
  }
}

TEST_CASE("resnets and vgg have torchvision's published numbers of parameters", "[zoo]") {
  constexpr std::array<std::pair<const char*, std::int64_t>, 4> published{{{"resnet18", 11'689'512},
                                                                           {"resnet34", 21'797'672},
                                                                           {"resnet50", 25'557'032},
                                                                           {"vgg11", 132'863'336}}};
  for (const auto& [name, parameters] : published) {
    INFO(name);
    const Facts facts = facts_of({{"image", {224, 224, 3}}, {"classes", 1000}});
    CHECK(analyse(Written(ZooCall{name}), facts, {}).parameters == parameters);
  }
}

TEST_CASE("the models of before have the variables of before", "[zoo]") {
  using Names = std::vector<std::string>;
  CHECK(variables_of(R"({"name": "linear_regression", "arguments": {}})", R"({"features": 13})") ==
        Names{"dense_0/kernel", "dense_0/bias"});
  CHECK(variables_of(R"({"name": "mlp", "arguments": {"hidden": [30, 20]}})",
                     R"({"image": [28, 28, 1], "classes": 10})") ==
        Names{"dense_0/kernel", "dense_0/bias", "dense_1/kernel", "dense_1/bias", "dense_2/kernel",
              "dense_2/bias"});
  CHECK(variables_of(R"({"name": "wide_and_deep", "arguments": {}})",
                     R"({"sparse": 1000, "classes": 2})") ==
        Names{"wide/kernel", "embedding/kernel", "dense_0/kernel", "dense_0/bias", "dense_1/kernel",
              "dense_1/bias"});
}

TEST_CASE("what does not fit the data is said at the zoo's argument", "[zoo]") {
  const json image = {{"image", {28, 28, 1}}, {"classes", 10}};
  CHECK(
      fault_of(
          {{"name", "cifar_cnn"}, {"arguments", {{"filters", {8, 8, 8, 8, 8}}}}, {"facts", image}})
          .starts_with("/model/filters"));
  CHECK(fault_of({{"name", "mlp"}, {"arguments", {{"weight_init", "best"}}}, {"facts", image}})
            .starts_with("/model/weight_init"));
  CHECK(fault_of({{"name", "gpt"},
                  {"arguments", {{"heads", 5}}},
                  {"facts", {{"tokens", 128}, {"vocabulary", 96}}}})
            .starts_with("/model/heads"));
  CHECK(fault_of({{"name", "vgg11"}, {"arguments", json::object()}, {"facts", image}})
            .starts_with("/model "));
}

}  // namespace trainyard::model
