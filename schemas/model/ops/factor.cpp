// Interactions of embedded fields, of recommenders: fm, pairwise_dot.
#include "schemas/model/layer_scribe.h"

namespace trainyard::model {
namespace {

constexpr std::string_view form = "[fields, features]";

// [fields, features] -> [1]: half of what the square of the sum is more than the sum of squares.
void fm(LayerScribe& layer) {
  layer.costs().keeps(Kept::input);
  if (!layer.has_rank(0, 2, 2, form)) return;
  layer.costs().multiplies(times(2, elements(layer.shape(0))));
  layer.gives(Sizes{1});
}

// [fields, features] -> [fields (fields - 1) / 2], each two fields once.
void pairwise_dot(LayerScribe& layer) {
  layer.costs().keeps(Kept::input);
  if (!layer.has_rank(0, 2, 2, form)) return;
  const Count fields = known(layer.shape(0)->front());
  if (fields && *fields < 2) {
    layer.fault("", "pairwise_dot reads 2 fields or more, but " + layer.input_name(0) + " gives " +
                        to_text(layer.shape(0)));
    return;
  }
  Count pairs = fields ? times(*fields, *fields - 1) : std::nullopt;
  if (pairs) *pairs /= 2;
  layer.costs().multiplies(times(pairs, known(layer.last_size(0))));
  layer.gives(Sizes{size_or_unknown(pairs)});
}

}  // namespace

std::vector<OpRule> factor_ops() {
  return {{.name = "fm", .infer = fm}, {.name = "pairwise_dot", .infer = pairwise_dot}};
}

}  // namespace trainyard::model
