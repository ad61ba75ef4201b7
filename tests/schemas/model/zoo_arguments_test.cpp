// The zoo as functions from arguments to the language; what the language makes of it is in
// zoo_test.cpp.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "schemas/model/zoo/zoo.h"
#include "schemas/wire/model_json.h"

namespace trainyard::model {
namespace {

using nlohmann::json;

// All models, in the order in which users see them.
constexpr std::array<std::string_view, 20> names{"linear_regression",
                                                 "logistic_regression",
                                                 "softmax_regression",
                                                 "mlp",
                                                 "wide_and_deep",
                                                 "lenet5",
                                                 "cifar_cnn",
                                                 "vgg11",
                                                 "resnet18",
                                                 "resnet34",
                                                 "resnet50",
                                                 "lstm_classifier",
                                                 "gru_classifier",
                                                 "crnn",
                                                 "gpt",
                                                 "gpt2_small",
                                                 "transformer_classifier",
                                                 "deepfm",
                                                 "dlrm",
                                                 "two_tower"};

json made(const json& call, const Facts& facts = {}) {
  std::vector<Fault> faults;
  const auto written = parse_model(call, "/model", faults);
  REQUIRE(written);
  const Model model = make_zoo_model(std::get<ZooCall>(*written), facts, "/model", faults);
  REQUIRE(faults.empty());
  return json(model_to_json(model));
}

std::vector<Fault> faults_of(std::string_view call) {
  std::vector<Fault> faults;
  const auto written = parse_model(json::parse(call), "/model", faults);
  REQUIRE(written);
  const Model model = make_zoo_model(std::get<ZooCall>(*written), {}, "/model", faults);
  CHECK(model == Model{});
  return faults;
}

// The one fault of a call, as "pointer message".
std::string fault_of(std::string_view call) {
  const std::vector<Fault> faults = faults_of(call);
  REQUIRE(faults.size() == 1);
  std::string text = faults.front().pointer;
  text.append(1, ' ').append(faults.front().message);
  return text;
}

json example(const std::string& name) {
  std::ifstream file("tests/schemas/model/examples/" + name + ".json");
  REQUIRE(file);
  return json::parse(file);
}

bool is_within(const ZooArgument& argument, const Value& value) {
  const double* number = value.number();
  return number != nullptr && *number >= argument.least && *number <= argument.most;
}

// Whether the default is one that a user could give.
bool has_right_default(const ZooArgument& argument) {
  const Value& standard = argument.standard;
  if (standard == Value("")) return true;  // found out
  switch (argument.kind) {
    case ArgumentKind::integer:
    case ArgumentKind::number: return is_within(argument, standard);
    case ArgumentKind::flag: return standard.flag() != nullptr;
    case ArgumentKind::choice:
      return std::ranges::find(argument.choices, *standard.text()) != argument.choices.end();
    case ArgumentKind::integers:
      return std::ranges::all_of(*standard.list(),
                                 [&](const Value& item) { return is_within(argument, item); });
    case ArgumentKind::init:
    case ArgumentKind::field: return standard.text() != nullptr;
  }
  return false;
}

}  // namespace

TEST_CASE("the zoo has twenty models, and each argument says what it is", "[zoo]") {
  std::vector<std::string_view> listed;
  for (const ZooModel& model : zoo()) {
    INFO(model.name);
    listed.push_back(model.name);
    CHECK(find_zoo_model(model.name) == &model);
    CHECK(model.description.size() > 20);
    for (const ZooArgument& argument : model.arguments) {
      INFO(argument.name);
      CHECK(is_name(argument.name));
      CHECK(argument.description.size() > 8);
      CHECK(argument.least <= argument.most);
      CHECK(has_right_default(argument));
    }
  }
  CHECK(std::ranges::equal(listed, names));
  CHECK(find_zoo_model("resnet19") == nullptr);
}

TEST_CASE("each model of the zoo is read again as it is printed", "[zoo]") {
  for (const std::string_view name : names) {
    INFO(name);
    std::vector<Fault> faults;
    const Model model = make_zoo_model({std::string(name)}, {}, "/model", faults);
    const auto again = parse_model(json::parse(print_model(model)), "/model", faults);

    REQUIRE(faults.empty());
    CHECK(json(model_to_json(*again)) == json(model_to_json(model)));
  }
}

TEST_CASE("the examples of the design are calls of the zoo", "[zoo]") {
  CHECK(made("lstm_classifier") == example("lstm_reviews"));
  CHECK(made("crnn") == example("text_lines"));
  CHECK(made("gpt2_small") == example("gpt2_small"));

  // The zoo says how the weights start behind which there is a relu.
  json cifar_cnn = example("cifar_cnn");
  cifar_cnn["init"] = "he_normal";
  cifar_cnn["metrics"] = {"accuracy"};
  CHECK(made("cifar_cnn") == cifar_cnn);
  json resnet18 = example("resnet18");
  resnet18["init"] = "he_normal";
  CHECK(made("resnet18") == resnet18);
  json two_tower = example("two_tower");
  two_tower["init"] = "he_normal";
  two_tower["blocks"]["tower"]["layers"][0]["init"] = {{"name", "uniform"}, {"stddev", 0.05}};
  CHECK(made({{"name", "two_tower"}, {"user", "userId"}, {"item", "movieId"}}) == two_tower);
}

TEST_CASE("an argument that is out of its bounds is a fault at its place", "[zoo]") {
  CHECK(fault_of(R"({"name": "gpt", "depth": 0})") ==
        "/model/depth must be an integer from 1 to 256, got 0");
  CHECK(fault_of(R"({"name": "gpt", "depth": 2.5})") ==
        "/model/depth must be an integer from 1 to 256, got 2.5");
  CHECK(fault_of(R"({"name": "gpt", "depth": "12"})") ==
        "/model/depth must be an integer from 1 to 256, got \"12\"");
  CHECK(fault_of(R"({"name": "gpt", "width": 1e300})") ==
        "/model/width must be an integer from 1 to 16384, got 1e+300");
  CHECK(fault_of(R"({"name": "gpt", "tie": 1})") == "/model/tie must be true or false, got 1");
  CHECK(fault_of(R"({"name": "cifar_cnn", "dropout": 1})") ==
        "/model/dropout must be a number from 0 to 0.95, got 1");
  CHECK(fault_of(R"({"name": "resnet18", "stem": "mnist"})") ==
        "/model/stem must be one of imagenet, cifar, got \"mnist\"");
  CHECK(fault_of(R"({"name": "mlp", "hidden": 100})") ==
        "/model/hidden must be a list of at most 64 integers, got 100");
  CHECK(fault_of(R"({"name": "mlp", "hidden": [100, 0]})") ==
        "/model/hidden/1 must be an integer from 1 to 65536, got 0");
  CHECK(fault_of(R"({"name": "mlp", "hidden": [100, [1]]})") ==
        "/model/hidden/1 must be an integer from 1 to 65536, got a list");
  CHECK(fault_of(R"({"name": "mlp", "weight_init": 3})") ==
        "/model/weight_init must be one of zeros, constant, normal, uniform, truncated_normal, "
        "xavier_uniform, xavier_normal, he_uniform, he_normal, orthogonal, torch, got 3");
  CHECK(fault_of(R"({"name": "two_tower", "user": ""})") ==
        "/model/user must be the name of a field of the data set, got \"\"");
  json many = {{"name", "mlp"}, {"hidden", std::vector<int>(65, 1)}};
  CHECK(fault_of(many.dump()) ==
        "/model/hidden must be a list of at most 64 integers, got a list of 65");
}

TEST_CASE("all faults of a call are noted at once, unknown arguments and names too", "[zoo]") {
  const auto several =
      faults_of(R"({"name": "mlp", "hidden": [0, 100, -3], "activation": "elu", "depth": 3})");
  REQUIRE(several.size() == 4);
  CHECK(several[3] ==
        Fault{"/model/depth", "is no argument of mlp; there are: hidden, activation, weight_init"});

  CHECK(fault_of(R"("resnet19")")
            .starts_with("/model no model is called \"resnet19\"; there are: linear_regression, "));
  CHECK(fault_of(R"({"name": "resnet19", "depth": 3})").starts_with("/model/name no model is "));

  json many = {{"name", "mlp"}};
  for (int i = 0; i < 1000; ++i) many["a" + std::to_string(i)] = i;
  const std::vector<Fault> faults = faults_of(many.dump());
  CHECK(faults.size() == 21);
  CHECK(faults.back() == Fault{"/model", "has 980 more arguments that are none"});
}

TEST_CASE("what an argument changes is what is printed", "[zoo]") {
  const json small = made({{"name", "gpt"}, {"depth", 2}, {"dropout", 0}, {"mlp", 100}});
  CHECK(small["define"] == json({{"d", 128}, {"depth", 2}, {"heads", 4}, {"mlp", 100}}));
  CHECK(small["layers"].dump().find("dropout") == std::string::npos);

  CHECK(made("mlp")["init"] == json({{"name", "normal"}, {"stddev", 0.1}}));
  CHECK(made({{"name", "mlp"}, {"activation", "relu"}})["init"] == "he_normal");
  CHECK(made({{"name", "mlp"}, {"weight_init", "zeros"}})["init"] == "zeros");

  Facts numbers;
  numbers.label_kind = LabelKind::number;
  CHECK(made("mlp", numbers)["loss"] == "squared_error");
  Facts sparse;
  sparse.fields = {{.name = "features", .shape = Sizes{100}, .kind = ElementKind::sparse}};
  CHECK(made("logistic_regression", sparse)["layers"].size() == 1);
  Facts tall;
  tall.fields = {{.name = "image", .shape = Sizes{64, 256, 1}}};
  CHECK(made("crnn", tall)["layers"][7]["shape"] == json({-1, 1024}));
}

}  // namespace trainyard::model
