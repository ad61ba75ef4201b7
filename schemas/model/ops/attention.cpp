// Attention: sdpa, the layer that is spelled out to it, and rotations by place.
#include "schemas/model/layer_scribe.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

constexpr std::string_view sequence = "[time, features]";

bool are_divided_by_heads(LayerScribe& layer, std::int64_t features) {
  const Count heads = layer.given().integer("heads");
  if (!heads || !is_known(features) || features % *heads == 0) return true;
  layer.fault("heads", layer.op() + ": the " + std::to_string(features) + " features of " +
                           layer.input_name(0) + " are no multiple of " + std::to_string(*heads) +
                           " heads");
  return false;
}

// q [time, d], k and v [other time, d] -> [time, d]
void sdpa(LayerScribe& layer) {
  for (std::size_t i = 0; i < 3; ++i) layer.costs().keeps(Kept::input, i);
  layer.costs().keeps(Kept::output);
  bool are_right = true;
  for (std::size_t i = 0; i < 3; ++i) are_right = layer.has_rank(i, 2, 2, sequence) && are_right;
  if (!are_right) return;
  const Sizes& query = *layer.shape(0);
  const Sizes& key = *layer.shape(1);
  const Sizes& value = *layer.shape(2);
  if (!may_be_equal(query[1], key[1]) || !may_be_equal(layer.shape(1), layer.shape(2))) {
    layer.fault("", "sdpa: the queries are " + to_text(query) + ", the keys " + to_text(key) +
                        " and the values " + to_text(value) +
                        "; keys and values are to be of one shape, with as many features as the " +
                        "queries");
    return;
  }
  if (!are_divided_by_heads(layer, query[1])) return;
  if (layer.given().flag("causal") && !may_be_equal(query[0], key[0])) {
    layer.fault("causal", "sdpa: with " + std::to_string(query[0]) + " queries and " +
                              std::to_string(key[0]) + " keys nothing says which come before");
    return;
  }
  const Count scores = times(known(query[0]), known(key[0]));
  const Count product = times(scores, known(query[1]));
  layer.costs().multiplies(times(2, product), times(5, product));  // the scores are computed again
  layer.costs().keeps_bytes(times(4, times(known(query[0]), layer.given().integer("heads"))));
  layer.gives(query);
}

Arguments without_nothing(Arguments arguments) {
  std::erase_if(arguments, [](const Argument& one) { return one.value == Value(""); });
  return arguments;
}

Value init_or_nothing(LayerScribe& layer, std::string_view first, std::string_view second) {
  if (const Value* init = layer.given().init(first)) return *init;
  if (const Value* init = layer.given().init(second)) return *init;
  return "";
}

// dense(3 d) -> slices -> sdpa -> dense(d)
void attention(LayerScribe& layer) {
  Given& given = layer.given();
  const bool is_sequence = layer.has_rank(0, 2, 2, sequence);
  if (is_sequence && !are_divided_by_heads(layer, layer.last_size(0))) return;
  const std::int64_t features = is_sequence ? layer.last_size(0) : unknown_size;
  if (!is_known(features) || features > size_max / 3 || !given.is_known("heads")) return;

  const auto dense = [&](std::int64_t units, Value init) {
    return without_nothing({{"units", units},
                            {"bias", given.flag("bias")},
                            {"init", std::move(init)},
                            {"bias_init", init_or_nothing(layer, "bias_init", "bias_init")}});
  };
  const auto part = [&](std::int64_t position) {
    return Arguments{{"axis", -1}, {"begin", position * features}, {"size", features}};
  };
  const std::size_t all = layer.spell("dense", "qkv", {layer.in()[0]},
                                      dense(3 * features, init_or_nothing(layer, "init", "init")));
  const std::size_t query = layer.spell("slice", "query", {all}, part(0));
  const std::size_t key = layer.spell("slice", "key", {all}, part(1));
  const std::size_t value = layer.spell("slice", "value", {all}, part(2));
  Arguments rest{{"heads", *given.integer("heads")}, {"causal", given.flag("causal")}};
  if (const auto rate = given.number("dropout")) rest.push_back({"dropout", *rate});
  const std::size_t mixed = layer.spell("sdpa", "sdpa", {query, key, value}, std::move(rest));
  layer.spell("dense", "output", {mixed},
              dense(features, init_or_nothing(layer, "output_init", "init")));
}

// Each head's pairs of features, rotated by an angle that grows with the place.
void rope(LayerScribe& layer) {
  if (!layer.has_rank(0, 2, 2, sequence)) return;
  const std::int64_t features = layer.last_size(0);
  const Count heads = layer.given().integer("heads");
  if (!are_divided_by_heads(layer, features)) return;
  if (heads && is_known(features) && features / *heads % 2 != 0) {
    layer.fault("heads", "rope: each head has " + std::to_string(features / *heads) +
                             " features, and rotates them two by two");
    return;
  }
  layer.gives(layer.shape(0));
}

}  // namespace

std::vector<OpRule> attention_ops() {
  ArgumentRule heads = integer_or("heads", 1, 1, window_max);
  const ArgumentRule dropout = number_or("dropout", 0, 0, 0.999);
  const OpRule rotation{
      .name = "rope", .arguments = {heads, number_or("theta", 10000, 1, 1e9)}, .infer = rope};
  heads.is_required = true;
  return {
      {.name = "sdpa",
       .inputs_least = 3,
       .inputs_most = 3,
       .arguments = {heads, flag_or("causal", false), dropout},
       .infer = sdpa},
      {.name = "attention",
       .arguments = {heads, flag_or("causal", false), dropout, flag_or("bias", true),
                     init_rule("init"), init_rule("bias_init"), init_rule("output_init")},
       .infer = attention,
       .layers = 6},
      rotation,
  };
}

}  // namespace trainyard::model
