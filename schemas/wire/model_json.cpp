// Reading: JSON to the model as it is written.
#include "schemas/wire/model_json.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/base/near_name.h"
#include "schemas/model/zoo/zoo.h"
#include "schemas/wire/json_fields.h"

namespace trainyard::model {
namespace {

using nlohmann::json;

constexpr std::size_t faults_max = 100;  // so that the answer does not outgrow the question
constexpr std::size_t reference_letters_max = 512;
constexpr std::size_t references_max = 1024;
constexpr std::size_t terms_max = 64;
constexpr std::size_t value_nesting_max = 4;

// The bytes of the compact text, without those that escapes add. Counting ends beyond `most`, and
// beyond the depth that any document has: what lies deeper is not read anyway.
std::size_t text_bytes(const json& value, std::size_t most, int depth = 0) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() + 2;
  if (!value.is_structured()) return to_text(value).size();
  if (depth > json_depth_max) return 2;
  std::size_t bytes = 2;
  for (const auto& [key, item] : value.items()) {
    bytes += (value.is_object() ? key.size() + 3 : 0) + 1;
    if (bytes > most) return bytes;
    bytes += text_bytes(item, most - bytes, depth + 1);
    if (bytes > most) return bytes;
  }
  return bytes;
}

JsonPlace child(const JsonPlace& place, std::string_view key, const json& value) {
  return {value, child_pointer(place.pointer, key), place.faults};
}

JsonPlace item(const JsonPlace& place, std::size_t index) {
  return child(place, std::to_string(index), place.value[index]);
}

constexpr std::string_view name_rule_in_words =
    "must be a name (a letter a-z, then at most 63 of a-z, 0-9 and _), got ";

std::string read_name(const JsonPlace& place) {
  const auto* text = place.value.get_ptr<const std::string*>();
  if (text != nullptr && is_name(*text)) return *text;
  place.fault(std::string(name_rule_in_words) + describe(place.value));
  return "";
}

// Whether what the key names may be read: keys become parts of pointers, so they are bounded first.
bool check_key(const JsonPlace& place, std::string_view key) {
  if (is_name(key)) return true;
  place.fault("the key " + std::string(name_rule_in_words) + describe(json(key)));
  return false;
}

// Whether it is a list of so many; the fault is noted where it is none.
bool check_list(const JsonPlace& place, std::string_view of_what, std::size_t most) {
  if (!place.value.is_array()) {
    place.fault("must be a list of " + std::string(of_what) + ", got " + describe(place.value));
    return false;
  }
  if (place.value.empty() || place.value.size() > most) {
    place.fault("must have 1 to " + std::to_string(most) + " " + std::string(of_what) + ", got " +
                std::to_string(place.value.size()));
    return false;
  }
  return true;
}

Value read_value(const JsonPlace& place, std::size_t depth);

Value read_list(const JsonPlace& place, std::size_t depth) {
  Value::List list;
  list.reserve(place.value.size());
  for (std::size_t i = 0; i < place.value.size(); ++i) {
    list.push_back(read_value(item(place, i), depth + 1));
  }
  return list;
}

Value read_object(const JsonPlace& place, std::size_t depth) {
  Value::Object object;
  for (const auto& [key, value] : place.value.items()) {
    if (!check_key(place, key)) continue;
    object.push_back({key, read_value(child(place, key, value), depth + 1)});
  }
  return object;
}

Value read_value(const JsonPlace& place, std::size_t depth) {
  const json& value = place.value;
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) {
    return read_text(place, printable_rule(0, reference_letters_max)).value_or("");
  }
  if (value.is_structured() && depth >= value_nesting_max) {
    place.fault("is nested deeper than " + std::to_string(value_nesting_max) + " levels");
  } else if (value.is_array()) {
    return read_list(place, depth);
  } else if (value.is_object()) {
    return read_object(place, depth);
  } else {
    place.fault("must be a number, true, false, a text, a list or an object, got " +
                describe(value));
  }
  return {};
}

using Keys = std::initializer_list<std::string_view>;

// All fields but those that are read otherwise.
Arguments read_arguments(const JsonPlace& place, Keys others) {
  Arguments arguments;
  for (const auto& [key, value] : place.value.items()) {
    if (std::ranges::find(others, key) != others.end() || !check_key(place, key)) continue;
    arguments.push_back({key, read_value(child(place, key, value), 0)});
  }
  return arguments;
}

// "-", "conv2d_3", "h/3/attention_0"
bool is_reference(std::string_view text) {
  const auto may_be_in = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
           byte == '/';
  };
  return text == "-" || (!text.empty() && text.size() <= reference_letters_max &&
                         std::ranges::all_of(text, may_be_in));
}

std::string read_reference(const JsonPlace& place) {
  const auto* text = place.value.get_ptr<const std::string*>();
  if (text != nullptr && is_reference(*text)) return *text;
  place.fault("must be the name of an input or of a layer, or \"-\" for the layer above, got " +
              describe(place.value));
  return "";
}

std::vector<std::string> read_in(Fields& fields) {
  const auto place = fields.find("in");
  if (!place) return {};
  if (place->value.is_string()) return {read_reference(*place)};
  std::vector<std::string> in;
  if (!check_list(*place, "names", references_max)) return in;
  for (std::size_t i = 0; i < place->value.size(); ++i) {
    in.push_back(read_reference(item(*place, i)));
  }
  return in;
}

Layers read_layers(const JsonPlace& place, std::size_t depth);

RepeatLayer read_repeat(Fields& fields, std::size_t depth) {
  RepeatLayer repeat;
  if (const auto times = fields.find("repeat")) repeat.times = read_value(*times, 0);
  if (const auto layers = fields.require("layers")) repeat.layers = read_layers(*layers, depth + 1);
  return repeat;
}

ResidualLayer read_residual(Fields& fields, std::size_t depth) {
  ResidualLayer residual;
  if (const auto layers = fields.find("residual")) {
    residual.layers = read_layers(*layers, depth + 1);
  }
  const auto shortcut = fields.find("shortcut");
  const bool is_itself = !shortcut || (shortcut->value.is_array() && shortcut->value.empty());
  if (!is_itself) residual.shortcut = read_layers(*shortcut, depth + 1);
  return residual;
}

constexpr std::array<std::string_view, 4> layer_kinds{"op", "repeat", "residual", "use"};

// Which of the four it is; the fault is noted where it is none or several.
std::optional<std::string_view> read_kind(const JsonPlace& place) {
  std::optional<std::string_view> kind;
  for (const std::string_view candidate : layer_kinds) {
    if (!place.value.contains(candidate)) continue;
    if (kind) {
      place.fault("has both \"" + std::string(*kind) + "\" and \"" + std::string(candidate) +
                  "\"; a layer is one of them");
      return std::nullopt;
    }
    kind = candidate;
  }
  if (!kind) place.fault(R"(has none of "op", "repeat", "residual" and "use")");
  return kind;
}

Layer read_layer_object(const JsonPlace& place, std::size_t depth) {
  Layer layer;
  const auto kind = read_kind(place);
  if (!kind) return layer;
  Fields fields(place);
  if (kind == "op") {
    layer.what = OpLayer{read_name(*fields.find("op"))};
    layer.arguments = read_arguments(place, {"op", "name", "in"});
  } else if (kind == "use") {
    layer.what = UseLayer{read_name(*fields.find("use"))};
    layer.arguments = read_arguments(place, {"use", "name", "in"});
  } else if (kind == "repeat") {
    layer.what = read_repeat(fields, depth);
    layer.arguments = read_arguments(place, {"repeat", "layers", "name", "in"});
  } else {
    layer.what = read_residual(fields, depth);
    layer.arguments = read_arguments(place, {"residual", "shortcut", "name", "in"});
  }
  if (const auto name = fields.find("name")) layer.name = read_name(*name);
  layer.in = read_in(fields);
  return layer;
}

Layer read_layer(const JsonPlace& place, std::size_t depth) {
  if (place.value.is_object()) return read_layer_object(place, depth);
  if (place.value.is_string()) return op(read_name(place));
  place.fault(
      R"(must be the name of an op, or an object with "op", "repeat", "residual" or "use", got )" +
      describe(place.value));
  return {};
}

Layers read_layers(const JsonPlace& place, std::size_t depth) {
  Layers layers;
  if (depth >= nesting_max) {
    place.fault("is nested deeper than " + std::to_string(nesting_max) + " lists of layers");
    return layers;
  }
  if (!check_list(place, "layers", static_cast<std::size_t>(layers_max))) return layers;
  for (std::size_t i = 0; i < place.value.size(); ++i) {
    layers.push_back(read_layer(item(place, i), depth));
  }
  return layers;
}

Term read_term(const JsonPlace& place) {
  Term term;
  if (place.value.is_string()) {
    term.op = read_name(place);
    return term;
  }
  if (!place.value.is_object()) {
    place.fault("must be a name, or an object with \"op\", got " + describe(place.value));
    return term;
  }
  Fields fields(place);
  if (const auto op = fields.require("op")) term.op = read_name(*op);
  term.in = read_in(fields);
  fields.text("target", term.target, printable_rule(1, 255));
  term.arguments = read_arguments(place, {"op", "in", "target"});
  return term;
}

std::vector<Term> read_terms(const JsonPlace& place, std::string_view of_what) {
  std::vector<Term> terms;
  if (!check_list(place, of_what, terms_max)) return terms;
  for (std::size_t i = 0; i < place.value.size(); ++i) terms.push_back(read_term(item(place, i)));
  return terms;
}

void read_losses(const JsonPlace& place, Model& model) {
  model.loss_is_list = place.value.is_array();
  if (model.loss_is_list) {
    model.losses = read_terms(place, "losses");
  } else {
    model.losses.push_back(read_term(place));
  }
}

// Calls `read` for each member whose key is a name.
template <class Read>
void read_members(const std::optional<JsonPlace>& place, Read read) {
  if (!place) return;
  if (!place->value.is_object()) {
    place->fault("must be an object, got " + describe(place->value));
    return;
  }
  for (const auto& [key, value] : place->value.items()) {
    if (check_key(*place, key)) read(key, child(*place, key, value));
  }
}

Block read_block(std::string name, const JsonPlace& place) {
  Block block{.name = std::move(name)};
  Fields fields(place);
  const auto parameters = fields.find("parameters");
  const bool has_some = parameters && !(parameters->value.is_array() && parameters->value.empty());
  if (has_some && check_list(*parameters, "parameters", references_max)) {
    for (std::size_t i = 0; i < parameters->value.size(); ++i) {
      block.parameters.push_back(read_name(item(*parameters, i)));
    }
  }
  if (const auto layers = fields.require("layers")) block.layers = read_layers(*layers, 0);
  fields.refuse_others();
  return block;
}

Model read_layers_model(const JsonPlace& place) {
  Model model;
  Fields fields(place);
  read_members(fields.find("inputs"), [&](const std::string& name, const JsonPlace& field) {
    if (auto text = read_text(field, printable_rule(1, 255))) {
      model.inputs.push_back({name, *std::move(text)});
    }
  });
  read_members(fields.find("define"), [&](const std::string& name, const JsonPlace& number) {
    if (const auto value = read_number(number, {-1e15, 1e15})) {
      model.define.push_back({name, *value});
    }
  });
  read_members(fields.find("blocks"), [&](const std::string& name, const JsonPlace& block) {
    model.blocks.push_back(read_block(name, block));
  });
  if (const auto init = fields.find("init")) model.init = read_value(*init, 0);
  if (const auto layers = fields.find("layers")) model.layers = read_layers(*layers, 0);
  if (const auto loss = fields.require("loss")) read_losses(*loss, model);
  const auto metrics = fields.find("metrics");
  const bool has_metrics = metrics && !(metrics->value.is_array() && metrics->value.empty());
  if (has_metrics) model.metrics = read_terms(*metrics, "metrics");
  fields.refuse_others();
  return model;
}

std::string read_zoo_name(const JsonPlace& place) {
  const auto* text = place.value.get_ptr<const std::string*>();
  if (text == nullptr || is_name(*text)) return read_name(place);
  std::vector<std::string_view> names;
  for (const ZooModel& each : zoo()) names.push_back(each.name);
  place.fault(std::string(name_rule_in_words) + describe(place.value) + did_you_mean(*text, names));
  return "";
}

Written read_written(const JsonPlace& place) {
  if (place.value.is_string()) return ZooCall{.name = read_zoo_name(place), .is_short = true};
  if (!place.value.is_object()) {
    place.fault("must be the name of a model or an object, got " + describe(place.value));
    return ZooCall{};
  }
  if (place.value.contains("layers")) return read_layers_model(place);
  const auto name = place.value.find("name");
  if (name == place.value.end()) {
    place.fault(R"(must have "name", of a model of the zoo, or "layers" and "loss")");
    return ZooCall{};
  }
  return ZooCall{.name = read_zoo_name(child(place, "name", *name)),
                 .arguments = read_arguments(place, {"name"})};
}

}  // namespace

std::optional<Written> parse_model(const json& value, const std::string& pointer,
                                   std::vector<Fault>& faults) {
  std::vector<Fault> found;
  const JsonPlace place{value, pointer, found};
  if (text_bytes(value, text_bytes_max) > text_bytes_max) {
    faults.push_back({pointer, "has more than 64 KiB of JSON"});
    return std::nullopt;
  }
  Written written = read_written(place);
  if (found.empty()) return written;
  if (found.size() > faults_max) {
    found.resize(faults_max);
    found.push_back({pointer, "has more faults like these"});
  }
  std::ranges::move(found, std::back_inserter(faults));
  return std::nullopt;
}

}  // namespace trainyard::model
