#include "schemas/wire/model_json.h"

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "schemas/wire/json_text.h"

namespace trainyard::model {
namespace {

using nlohmann::json;

constexpr std::string_view least = R"({"layers": ["flatten"], "loss": "squared_error"})";

// The examples of the design, as people write them.
constexpr std::array example_names{"cifar_cnn",  "resnet18", "lstm_reviews", "text_lines",
                                   "gpt2_small", "deepfm",   "two_tower"};

json example(const std::string& name) {
  std::ifstream file("tests/schemas/model/examples/" + name + ".json");
  REQUIRE(file);
  return json::parse(file);
}

struct Read {
  std::optional<Written> written;
  std::vector<Fault> faults;
};

Read read(const json& value) {
  Read read;
  read.written = parse_model(value, "/model", read.faults);
  CHECK(read.written.has_value() == read.faults.empty());
  return read;
}

Read read_from(std::string_view text) { return read(json::parse(text)); }

// The one fault of `least` with some fields replaced, as "pointer message".
std::string fault_of(std::string_view fields) {
  json model = json::parse(least);
  model.update(json::parse(fields));
  const Read got = read(model);
  REQUIRE(got.faults.size() == 1);
  std::string text = got.faults.front().pointer;
  text.append(1, ' ').append(got.faults.front().message);
  return text;
}

const Model& model_of(const Read& got) {
  REQUIRE(got.written);
  return std::get<Model>(*got.written);
}

}  // namespace

TEST_CASE("each example of the design is read and printed as the same JSON", "[model]") {
  for (const std::string name : example_names) {
    INFO(name);
    const json document = example(name);
    const Read got = read(document);
    REQUIRE(got.faults.empty());

    CHECK(json(model_to_json(*got.written)) == document);
    const std::string text = print_model(*got.written);
    CHECK(json::parse(text) == document);
    CHECK(print_model(*read(json::parse(text)).written) == text);
  }
}

TEST_CASE("a printed model has a layer a line and no line of more than 100 columns", "[model]") {
  const Read got = read(example("cifar_cnn"));

  const std::string text = print_model(*got.written);

  CHECK(text == R"json({
  "layers": [
    {"op": "conv2d", "filters": 32, "kernel": 3, "padding": "same"},
    "batch_norm",
    "relu",
    {"op": "max_pool2d", "size": 2},
    {"op": "conv2d", "filters": 64, "kernel": 3, "padding": "same"},
    "batch_norm",
    "relu",
    {"op": "max_pool2d", "size": 2},
    "flatten",
    {"op": "dense", "units": 256, "activation": "relu"},
    {"op": "dropout", "rate": 0.5},
    {"op": "dense", "units": "classes"}
  ],
  "loss": {"op": "softmax_cross_entropy", "label_smoothing": 0.1},
  "metrics": ["accuracy", {"op": "top_k", "k": 5}]
}
)json");
}

TEST_CASE("the four kinds of layers are read with names, inputs and arguments", "[model]") {
  const Model model = model_of(read_from(R"({"loss": "squared_error", "layers": [
    {"op": "dense", "name": "a", "in": "x", "units": 3, "init": {"name": "normal", "stddev": 0.1}},
    {"repeat": "$n", "name": "h", "recompute": true, "layers": ["relu"]},
    {"residual": ["relu"], "shortcut": ["tanh", "relu"]},
    {"use": "tower", "in": ["a", "-"], "f": 4}]})"));

  const Layer& dense = model.layers[0];
  CHECK(std::get<OpLayer>(dense.what).op == "dense");
  CHECK(dense.name == "a");
  CHECK(dense.in == std::vector<std::string>{"x"});
  CHECK(*find(dense.arguments, "units")->number() == 3);
  CHECK(*find(*find(dense.arguments, "init")->object(), "stddev")->number() == 0.1);
  CHECK(dense.arguments.size() == 2);

  const auto& repeat = std::get<RepeatLayer>(model.layers[1].what);
  CHECK(*repeat.times.text() == "$n");
  CHECK(repeat.layers == Layers{op("relu")});
  CHECK(*find(model.layers[1].arguments, "recompute")->flag());

  const auto& residual = std::get<ResidualLayer>(model.layers[2].what);
  CHECK(residual.layers.size() == 1);
  CHECK(residual.shortcut.size() == 2);

  CHECK(std::get<UseLayer>(model.layers[3].what).block == "tower");
  CHECK(model.layers[3].in == std::vector<std::string>{"a", "-"});
  CHECK(model.layers[3].arguments == Arguments{{"f", 4}});
}

TEST_CASE("a name of the zoo may stand alone or with its arguments", "[model]") {
  const Read alone = read_from(R"("resnet18")");
  CHECK(std::get<ZooCall>(*alone.written).name == "resnet18");
  CHECK(std::get<ZooCall>(*alone.written).is_short);
  CHECK(json(model_to_json(*alone.written)) == json("resnet18"));

  const json call = json::parse(R"({"name": "mlp", "hidden": [10, 5], "activation": "relu"})");
  const Read with = read(call);
  CHECK(std::get<ZooCall>(*with.written).arguments.size() == 2);
  CHECK(json(model_to_json(*with.written)) == call);
}

TEST_CASE("losses and metrics are names or objects, a loss or a list of them", "[model]") {
  const json document = json::parse(R"({"layers": ["relu"],
    "loss": [{"op": "ctc", "in": "scores", "weight": 0.5}, {"op": "huber", "target": "age"}],
    "metrics": ["accuracy", {"op": "recall", "k": 10, "in": ["u", "i"]}]})");

  const Read got = read(document);

  CHECK(model_of(got).losses[1].target == "age");
  CHECK(model_of(got).loss_is_list);
  CHECK(json(model_to_json(*got.written)) == document);
}

TEST_CASE("what no model can be is said where it stands", "[model]") {
  CHECK(read_from("7").faults ==
        std::vector<Fault>{{"/model", "must be the name of a model or an object, got 7"}});
  CHECK(read_from("{}").faults ==
        std::vector<Fault>{
            {"/model", R"(must have "name", of a model of the zoo, or "layers" and "loss")"}});
  CHECK(read_from(R"({"layers": ["relu"]})").faults ==
        std::vector<Fault>{{"/model/loss", "is required"}});
  CHECK(fault_of(R"({"layers": []})") == "/model/layers must have 1 to 4096 layers, got 0");
  CHECK(fault_of(R"({"layers": "relu"})") ==
        R"(/model/layers must be a list of layers, got "relu")");
  CHECK(fault_of(R"({"layer": 3})").starts_with("/model/layer is not a field here; there are: "));
  CHECK(fault_of(R"({"inputs": {"X": "a"}})").starts_with("/model/inputs the key must be a name "));
  CHECK(fault_of(R"({"inputs": {"x": 3}})").starts_with("/model/inputs/x must be a text "));
  CHECK(fault_of(R"({"define": {"d": "3"}})").starts_with("/model/define/d must be a number "));
  CHECK(fault_of(R"({"blocks": {"b": {}}})") == "/model/blocks/b/layers is required");
  CHECK(fault_of(R"({"blocks": {"b": {"layers": ["relu"], "parameters": ["$f"]}}})")
            .starts_with("/model/blocks/b/parameters/0 must be a name "));
  CHECK(fault_of(R"({"metrics": [{"k": 5}]})") == "/model/metrics/0/op is required");
  CHECK(fault_of(R"({"loss": []})") == "/model/loss must have 1 to 64 losses, got 0");
}

TEST_CASE("what no layer can be is said where it stands", "[model]") {
  CHECK(fault_of(R"({"layers": ["relu", 3]})").starts_with("/model/layers/1 must be the name "));
  CHECK(fault_of(R"({"layers": ["ReLU"]})").ends_with(R"(got "ReLU")"));
  CHECK(fault_of(R"({"layers": [{"units": 3}]})") ==
        R"(/model/layers/0 has none of "op", "repeat", "residual" and "use")");
  CHECK(fault_of(R"({"layers": [{"op": "relu", "use": "b"}]})") ==
        R"(/model/layers/0 has both "op" and "use"; a layer is one of them)");
  CHECK(fault_of(R"({"layers": [{"repeat": 2}]})") == "/model/layers/0/layers is required");
  CHECK(fault_of(R"({"layers": [{"residual": [{"op": "dense", "units": null}]}]})")
            .starts_with("/model/layers/0/residual/0/units must be a number, true, false, "));
  CHECK(fault_of(R"({"layers": [{"op": "relu", "name": "a/b"}]})")
            .starts_with("/model/layers/0/name must be a name "));
  CHECK(fault_of(R"({"layers": [{"op": "add", "in": ["a", "b c"]}]})")
            .starts_with("/model/layers/0/in/1 must be the name of an input or of a layer"));
  CHECK(fault_of(R"({"layers": [{"op": "add", "in": []}]})") ==
        "/model/layers/0/in must have 1 to 1024 names, got 0");
  CHECK(fault_of(R"({"layers": [{"op": "relu", "": 1}]})").starts_with("/model/layers/0 the key "));
  CHECK(fault_of(R"({"layers": [{"op": "pad", "sizes": [[[[[1]]]]]}]})") ==
        "/model/layers/0/sizes/0/0/0/0 is nested deeper than 4 levels");
}

TEST_CASE("all faults are noted at once, but no more than a hundred", "[model]") {
  const Read several = read_from(R"({"layers": [{"op": "Conv"}, 3], "loss": 5, "size": 1})");
  CHECK(several.faults.size() == 4);

  json many = json::parse(least);
  many["layers"] = json::array();
  for (int i = 0; i < 4000; ++i) many["layers"].push_back(i);
  const Read got = read(many);
  CHECK(got.faults.size() == 101);
  CHECK(got.faults.back() == Fault{"/model", "has more faults like these"});
}

TEST_CASE("a model that is too long or too deep is refused before it is read", "[model]") {
  json longest = json::parse(least);
  longest["layers"][0] = json{{"op", "relu"}, {"text", std::string(70'000, 'x')}};
  CHECK(read(longest).faults == std::vector<Fault>{{"/model", "has more than 64 KiB of JSON"}});

  json many = json::parse(least);
  for (int i = 0; i < 4097; ++i) many["layers"].push_back("relu");
  CHECK(read(many).faults.front() ==
        Fault{"/model/layers", "must have 1 to 4096 layers, got 4098"});

  json deep = json::array({"relu"});
  for (int i = 0; i < 2000; ++i) deep = json::array({json{{"residual", std::move(deep)}}});
  json deepest = json::parse(least);
  deepest["layers"] = std::move(deep);
  const Read got = read(deepest);
  REQUIRE(got.faults.size() == 1);
  CHECK(got.faults.front().message == "is nested deeper than 16 lists of layers");
}

TEST_CASE("a model of the zoo is described with each argument's kind and bounds", "[model]") {
  const json gpt = zoo_model_to_json(*find_zoo_model("gpt"));
  const json mlp = zoo_model_to_json(*find_zoo_model("mlp"));
  const json resnet = zoo_model_to_json(*find_zoo_model("resnet18"));

  CHECK(gpt["name"] == "gpt");
  CHECK(gpt["facts"] == json({"vocabulary"}));
  CHECK(gpt["arguments"][2] == json::parse(R"({"name": "depth", "kind": "integer", "default": 4,
    "description": "Blocks, one above another", "minimum": 1, "maximum": 256})"));
  CHECK(mlp["arguments"][0]["default"] == json({100}));
  CHECK(mlp["arguments"][0]["items_max"] == 64);
  CHECK(mlp["arguments"][2]["default"] == nullptr);
  CHECK(resnet["arguments"][0]["choices"] == json({"imagenet", "cifar"}));
}

}  // namespace trainyard::model
