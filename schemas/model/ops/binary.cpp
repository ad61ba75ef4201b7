// Sums, products and the like of values, with trailing axes broadcast.
#include <algorithm>

#include "schemas/model/layer_scribe.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

// Of the same axis, counted from the last; nothing: they do not go together.
std::optional<std::int64_t> broadcast_size(std::int64_t left, std::int64_t right) {
  if (left == 1) return right;
  if (right == 1) return left;
  if (!may_be_equal(left, right)) return std::nullopt;
  return merged_size(left, right);
}

std::optional<Sizes> broadcast(const Sizes& left, const Sizes& right) {
  Sizes sizes(std::max(left.size(), right.size()), 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t one = i < left.size() ? left[left.size() - 1 - i] : 1;
    const std::int64_t other = i < right.size() ? right[right.size() - 1 - i] : 1;
    const auto size = broadcast_size(one, other);
    if (!size) return std::nullopt;
    sizes[sizes.size() - 1 - i] = *size;
  }
  return sizes;
}

// What would make the shortcut fit.
std::string advice(const MaybeShape& branch, const MaybeShape& shortcut, bool has_shortcut) {
  if (has_shortcut || !branch || branch->empty() || !is_known(branch->back())) return "";
  const bool is_image = branch->size() == 3 && shortcut && shortcut->size() == 3;
  if (!is_image) return "; add a \"shortcut\" that gives " + to_text(branch);
  std::string text = "; add a \"shortcut\" with a convolution of ";
  text += std::to_string(branch->back());
  text += " filters";
  const auto stride = [&](std::size_t axis) {
    const bool are_known = is_known((*branch)[axis]) && is_known((*shortcut)[axis]);
    return are_known && (*branch)[axis] > 0
               ? ((*shortcut)[axis] + (*branch)[axis] - 1) / (*branch)[axis]
               : 1;
  };
  if (stride(0) > 1 || stride(1) > 1) {
    text += " and a stride of ";
    text += stride(0) == stride(1) ? std::to_string(stride(0)) : by_text({stride(0), stride(1)});
  }
  return text;
}

// Both sides of a residual have one shape: a broadcast there is always a slip.
void residual_sum(LayerScribe& layer) {
  const MaybeShape& branch = layer.shape(0);
  const MaybeShape& shortcut = layer.shape(1);
  if (may_be_equal(branch, shortcut)) {
    layer.gives(merged(branch, shortcut));
    return;
  }
  layer.fault_below("/residual", "these layers give " + to_text(branch) + ", the shortcut " +
                                     to_text(shortcut) +
                                     advice(branch, shortcut, layer.flat().has_shortcut));
}

void binary(LayerScribe& layer) {
  const bool keeps = layer.op() != "add" && layer.op() != "sub";
  for (std::size_t i = 0; keeps && i < layer.in().size(); ++i) layer.costs().keeps(Kept::input, i);
  if (layer.flat().is_residual_sum) {
    residual_sum(layer);
    return;
  }
  MaybeShape sum = layer.shape(0);
  for (std::size_t i = 1; i < layer.in().size(); ++i) {
    const MaybeShape& next = layer.shape(i);
    if (!sum || !next) {
      sum.reset();
      continue;
    }
    const auto both = broadcast(*sum, *next);
    if (!both) {
      layer.fault("", layer.op() + ": " + to_text(next) + " of " + layer.input_name(i) +
                          " does not go with " + to_text(sum) +
                          (i == 1 ? " of " + layer.input_name(0) : " of those before it") +
                          ": sizes are compared from the last, and are to be the same or 1");
      return;
    }
    sum = *both;
  }
  layer.gives(sum);
}

}  // namespace

std::vector<OpRule> binary_ops() {
  std::vector<OpRule> rules;
  for (const std::string_view name : {"add", "mul", "max", "min"}) {
    rules.push_back(
        {.name = name, .inputs_least = 2, .inputs_most = inputs_of_layer_max, .infer = binary});
  }
  for (const std::string_view name : {"sub", "div"}) {
    rules.push_back({.name = name, .inputs_least = 2, .inputs_most = 2, .infer = binary});
  }
  return rules;
}

}  // namespace trainyard::model
