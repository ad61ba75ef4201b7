// Products of a value with a kernel or with another value: dense, matmul.
#include "schemas/model/layer_scribe.h"
#include "schemas/model/ops/activation.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

Sizes all_but_last(const MaybeShape& shape) {
  Sizes sizes = *shape;
  sizes.pop_back();
  return sizes;
}

// [.., in] -> [.., units]. Sparse rows [columns] -> [units].
void dense(LayerScribe& layer) {
  Given& given = layer.given();
  const std::int64_t units = size_or_unknown(given.integer("units"));
  const std::int64_t in = layer.last_size(0);
  const bool is_sparse = layer.kind(0) == ElementKind::sparse;
  const bool has_features = layer.has_rank(0, 1, rank_max, "[.., features]");
  const Fans fans{static_cast<double>(in), static_cast<double>(units)};
  const bool is_tied = layer.ties_kernel({in, units});
  if (!is_tied) {
    layer.adds_kernel({.shape = {in, units},
                       .fans = fans,
                       .standard = std::string(standard_init(given.text("activation")))});
  }
  if (given.flag("bias")) layer.adds_bias("bias", units, fans);
  if (!has_features) {  // then the kernel is of an unknown size
    layer.gives({});
    return;
  }
  Sizes sizes = all_but_last(layer.shape(0));
  // How many columns of a sparse row are not zero, the data alone tells.
  if (!is_sparse) {
    layer.costs().multiplies(times(elements(sizes), times(known(in), known(units))));
  }
  sizes.push_back(units);
  layer.costs().keeps(Kept::input_for_kernel);
  layer.gives(std::move(sizes));
  activates(layer);
}

// [.., m, k] and [.., k, n] -> [.., m, n]; the axes before are the same.
void matmul(LayerScribe& layer) {
  layer.costs().keeps(Kept::input, 0);
  layer.costs().keeps(Kept::input, 1);
  const bool are_matrices = layer.has_rank(0, 2, rank_max, "[.., rows, columns]") &&
                            layer.has_rank(1, 2, rank_max, "[.., rows, columns]");
  if (!are_matrices) {
    layer.gives({});
    return;
  }
  Sizes left = *layer.shape(0);
  Sizes right = *layer.shape(1);
  if (layer.given().flag("transpose_a")) std::swap(left[left.size() - 1], left[left.size() - 2]);
  if (layer.given().flag("transpose_b"))
    std::swap(right[right.size() - 1], right[right.size() - 2]);
  const std::int64_t depth = merged_size(left.back(), right[right.size() - 2]);
  const Sizes leading(left.begin(), left.end() - 2);
  const Sizes other(right.begin(), right.end() - 2);
  if (!may_be_equal(left.back(), right[right.size() - 2]) ||
      !may_be_equal(MaybeShape(leading), MaybeShape(other))) {
    layer.fault("", "matmul: " + to_text(left) + " of " + layer.input_name(0) + " and " +
                        to_text(right) + " of " + layer.input_name(1) +
                        " do not fit: the last size of the one is to be the last but one of the " +
                        "other, and those before are to be the same");
    layer.gives({});
    return;
  }
  Sizes sizes = *merged(MaybeShape(leading), MaybeShape(other));
  const Count outputs =
      times(elements(sizes), times(known(left[left.size() - 2]), known(right.back())));
  layer.costs().multiplies(times(outputs, known(depth)));
  sizes.push_back(left[left.size() - 2]);
  sizes.push_back(right.back());
  layer.gives(std::move(sizes));
}

}  // namespace

std::vector<OpRule> dense_ops() {
  return {
      {.name = "dense",
       .arguments = {required_size("units"),
                     flag_or("bias", true),
                     activation_rule(),
                     init_rule("init"),
                     init_rule("bias_init"),
                     {.name = "tie", .type = ArgumentType::name}},
       .infer = dense,
       .reads_sparse = true},
      {.name = "matmul",
       .inputs_least = 2,
       .inputs_most = 2,
       .arguments = {flag_or("transpose_a", false), flag_or("transpose_b", false)},
       .infer = matmul},
  };
}

}  // namespace trainyard::model
