// The model language by chance: drawn models come back unchanged, spoilt ones get faults whose
// places are there.
#include <catch2/catch.hpp>
#include <fstream>

#include "schemas/wire/model_json.h"
#include "tests/schemas/wire/random_values.h"

namespace trainyard::model {
namespace {

using nlohmann::json;

class RandomModels {
 public:
  explicit RandomModels(std::uint64_t seed) : values_(seed) {}

  Model model() {
    Model model;
    if (values_.coin()) model.inputs = {{name(), "a field"}};
    for (const std::string& key : keys(3)) model.define.push_back({key, values_.number(-9, 9)});
    for (const std::string& key : keys(2)) {
      Block& block = model.blocks.emplace_back();
      block.name = key;
      block.parameters = keys(2);
      block.layers = layers(2);
    }
    if (values_.coin()) model.init = value(2);
    model.layers = layers(4);
    model.loss_is_list = values_.coin();
    for (auto count = model.loss_is_list ? few() : 1; count > 0; --count) {
      model.losses.push_back(term());
    }
    for (auto count = few() - 1; count > 0; --count) model.metrics.push_back(term());
    return model;
  }

 private:
  std::int64_t few() { return values_.integer(1, 4); }

  std::string name() {
    std::string name(1, static_cast<char>('a' + values_.integer(0, 25)));
    for (auto more = values_.integer(0, 5); more > 0; --more) {
      name += "abcdefghijklmnopqrstuvwxyz0123456789_"[values_.integer(0, 36)];
    }
    return name;
  }

  // Different, ascending, as an object's keys are, and no word of the grammar: these have no X.
  std::vector<std::string> keys(std::int64_t most) {
    std::vector<std::string> keys;
    for (auto count = values_.integer(0, most); count > 0; --count) {
      std::string key(1, static_cast<char>('a' + static_cast<char>(keys.size())));
      keys.push_back(key.append("_").append(name()));
    }
    return keys;
  }

  Arguments arguments(int depth) {
    Arguments arguments;
    for (const std::string& key : keys(3)) arguments.push_back({key, value(depth)});
    return arguments;
  }

  Value value(int depth) {
    switch (values_.integer(0, depth > 0 ? 4 : 2)) {
      case 0:
        return values_.coin() ? values_.number(-1e9, 1e9)
                              : static_cast<double>(values_.integer(-1000, 1000));
      case 1: return values_.coin();
      case 2: return values_.printable(10);
      case 3: {
        Value::List list;
        for (auto count = few() - 1; count > 0; --count) list.push_back(value(depth - 1));
        return list;
      }
      default: return arguments(depth - 1);
    }
  }

  std::vector<std::string> references() {
    std::vector<std::string> references;
    for (auto count = few() - 1; count > 0; --count) {
      references.push_back(values_.coin() ? "-" : name() + "/" + name());
    }
    return references;
  }

  Term term() {
    return {.op = name(),
            .in = references(),
            .target = values_.coin() ? "" : "a " + name(),
            .arguments = arguments(1)};
  }

  Layers layers(int depth) {
    Layers layers;
    for (auto count = few(); count > 0; --count) layers.push_back(layer(depth));
    return layers;
  }

  Layer layer(int depth) {
    Layer layer;
    switch (values_.integer(0, depth > 0 ? 3 : 1)) {
      case 0: layer.what = OpLayer{name()}; break;
      case 1: layer.what = UseLayer{name()}; break;
      case 2: layer.what = RepeatLayer{value(1), layers(depth - 1)}; break;
      default:
        layer.what =
            ResidualLayer{layers(depth - 1), values_.coin() ? Layers{} : layers(depth - 1)};
    }
    if (values_.coin()) layer.name = name();
    if (values_.coin()) layer.in = references();
    if (values_.coin()) layer.arguments = arguments(2);
    return layer;
  }

  RandomValues values_;
};

// What may stand in place of any value, seldom rightly.
const json& replacement(RandomValues& values) {
  static const json all = json::parse(R"([null, true, 0, -1, 1e300, 9223372036854775807, 0.5, "",
    "-", "$f", "relu", "UPPER", "a b", [], [[]], {}, {"op": 3}, {"op": "relu"}, ["relu"],
    {"repeat": 1000000, "layers": [{"repeat": 1000000, "layers": ["relu"]}]}, {"~/": {"~/": 1}},
    [[[[[[[[1]]]]]]]], {"residual": [{"residual": [{"residual": []}]}]}])");
  return all[static_cast<std::size_t>(
      values.integer(0, static_cast<std::int64_t>(all.size()) - 1))];
}

// Walks down by chance and puts something else there.
void spoil(json& value, RandomValues& values) {
  json* place = &value;
  while (place->is_structured() && !place->empty() && values.integer(0, 4) > 0) {
    auto item = place->begin();
    std::advance(item, values.integer(0, static_cast<std::int64_t>(place->size()) - 1));
    place = &*item;
  }
  *place = replacement(values);
}

// Whether the place is there, or that of which it is a missing part.
bool is_place(const json& document, const std::string& pointer) {
  const std::string parent = pointer.substr(0, pointer.rfind('/'));
  return document.contains(json::json_pointer(pointer)) ||
         document.contains(json::json_pointer(parent));
}

}  // namespace

TEST_CASE("any model comes back from its JSON and from its text", "[model]") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO(seed);
    const Written written = RandomModels(seed).model();
    std::vector<Fault> faults;

    const auto from_json = parse_model(json(model_to_json(written)), "/model", faults);
    const auto from_text = parse_model(json::parse(print_model(written)), "/model", faults);

    for (const Fault& fault : faults) FAIL_CHECK(fault.pointer + " " + fault.message);
    CHECK(from_json == written);
    CHECK(from_text == written);
  }
}

TEST_CASE("a spoilt model is read, or its faults have places that are there", "[model]") {
  std::size_t refused = 0;
  for (const std::string name : {"cifar_cnn", "resnet18", "gpt2_small", "deepfm", "two_tower"}) {
    std::ifstream file("tests/schemas/model/examples/" + name + ".json");
    REQUIRE(file);
    const json good = {{"model", json::parse(file)}};
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      INFO(name << " " << seed);
      RandomValues values(seed);
      json spoilt = good;
      for (auto times = values.integer(1, 4); times > 0; --times) spoil(spoilt["model"], values);
      std::vector<Fault> faults;

      const auto written = parse_model(spoilt["model"], "/model", faults);

      CHECK(written.has_value() == faults.empty());
      refused += faults.empty() ? 0 : 1;
      for (const Fault& fault : faults) {
        INFO(fault.pointer);
        CHECK(is_place(spoilt, fault.pointer));
      }
      if (!written) continue;
      faults.clear();
      CHECK(parse_model(json(model_to_json(*written)), "/model", faults) == written);
    }
  }
  CHECK(refused > 500);
}

}  // namespace trainyard::model
