// Tables of rows by id, and rows by place: embedding, embedding_bag, positions.
#include "schemas/model/layer_scribe.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

// The bound of the wide and deep models there are, whose goldens are to hold.
Value table_init() { return Value::Object{{"name", "uniform"}, {"stddev", 0.05}}; }

// The table [ids, size] of the layer, in the arena or on the ps.
void adds_table(LayerScribe& layer, std::int64_t ids, std::int64_t size) {
  const bool on_ps = layer.given().text("storage") == "rows";
  layer.adds_kernel({.shape = {ids, size},
                     .fans = {static_cast<double>(ids), static_cast<double>(size)},
                     .standard = table_init(),
                     .role = on_ps ? VariableRole::row_table : VariableRole::parameter});
}

// "ids" where it is written, else what the data set says.
std::int64_t ids_of(LayerScribe& layer) {
  const std::int64_t ids = layer.ids(0);
  if (!names_argument(layer, "ids")) return ids;
  const Count written = layer.given().integer("ids");
  if (written && is_known(ids) && *written < ids) {
    layer.fault("ids", layer.op() + ": " + layer.input_name(0) + " has " + with_commas(ids) +
                           " ids, more than " + with_commas(*written));
  }
  return size_or_unknown(written);
}

bool reads_kind(LayerScribe& layer, ElementKind kind, std::string_view noun) {
  if (!layer.shape(0) || layer.kind(0) == kind) return true;
  layer.fault("", layer.op() + " reads " + std::string(noun) + ", but " + layer.input_name(0) +
                      " gives " + std::string(noun_of(layer.kind(0))));
  return false;
}

// ids [..] -> [.., size]
void embedding(LayerScribe& layer) {
  const std::int64_t size = size_or_unknown(layer.given().integer("size"));
  if (!reads_kind(layer, ElementKind::id, "ids")) return;
  adds_table(layer, ids_of(layer), size);
  layer.costs().keeps(Kept::input);
  if (!layer.shape(0)) return;
  Sizes sizes = *layer.shape(0);
  sizes.push_back(size);
  layer.gives(std::move(sizes));
}

// A sparse row -> [size]: the sum or the mean of the rows of its columns, times their numbers.
void embedding_bag(LayerScribe& layer) {
  const std::int64_t size = size_or_unknown(layer.given().integer("size"));
  if (!reads_kind(layer, ElementKind::sparse, "sparse rows")) return;
  const bool is_row = layer.has_rank(0, 1, 1, "[columns]");
  adds_table(layer, layer.last_size(0), size);
  if (is_row) layer.gives(Sizes{size});
}

// x [time, features] + P[time]
void positions(LayerScribe& layer) {
  const bool is_sequence = layer.has_rank(0, 2, 2, "[time, features]");
  const std::int64_t time = is_sequence ? layer.shape(0)->front() : unknown_size;
  std::int64_t length = time;
  if (names_argument(layer, "length")) {
    const Count written = layer.given().integer("length");
    if (written && is_known(time) && *written < time) {
      layer.fault("length", "positions: " + layer.input_name(0) + " is " + std::to_string(time) +
                                " long, more than " + std::to_string(*written));
    }
    length = size_or_unknown(written);
  }
  const std::int64_t features = is_sequence ? layer.last_size(0) : unknown_size;
  layer.adds_kernel({.shape = {length, features},
                     .fans = {static_cast<double>(length), static_cast<double>(features)},
                     .standard = table_init()});
  if (is_sequence) layer.gives(layer.shape(0));
}

}  // namespace

std::vector<OpRule> embedding_ops() {
  const ArgumentRule storage = choice_or("storage", "arena", {"arena", "rows"});
  return {
      {.name = "embedding",
       .arguments = {required_size("size"), optional_size("ids"), storage, init_rule("init")},
       .infer = embedding,
       .reads_ids = true,
       .reads_sparse = true},
      {.name = "embedding_bag",
       .arguments = {required_size("size"), choice_or("kind", "sum", {"sum", "mean"}), storage,
                     init_rule("init")},
       .infer = embedding_bag,
       .reads_ids = true,
       .reads_sparse = true},
      {.name = "positions",
       .arguments = {optional_size("length"), init_rule("init")},
       .infer = positions},
  };
}

}  // namespace trainyard::model
