// One op with its inputs, its feed and what is asked of its gradients: held against the CPU's
// kernels byte by byte on another device, and the same everywhere, by seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

using Random = std::mt19937_64;

// Memory of a feed.
struct FeedData {
  std::int64_t examples = 0;
  std::vector<float> features{};
  std::vector<std::int32_t> labels{};
  std::vector<float> targets{};
  std::vector<std::int64_t> sparse_offsets{};  // see SparseView
  std::vector<std::int32_t> sparse_columns{};
  std::vector<float> sparse_values{};
  std::vector<std::int32_t> ids{};
  std::vector<std::int32_t> lengths{};
  std::vector<std::int32_t> token_labels{};
  std::vector<std::int32_t> symbols{};
  std::vector<std::int32_t> symbol_offsets{};
  // Of one table.
  std::int64_t row_width = 0;
  std::vector<std::int32_t> places{};
  std::vector<float> rows{};
  std::vector<std::int64_t> pooled_offsets{};  // empty: no row is a sum of rows
  std::vector<float> pooled_values{};
  std::uint64_t seed = 7;
  std::uint64_t first_position = 1000003;
};

struct Input {
  std::vector<float> values{};
  Shape shape;              // with the batch's axis, unless it is fixed
  bool is_fixed = false;    // a variable: the same for all examples
  bool is_in_feed = false;  // sparse features, ids: no tensor
  bool wants_gradient = true;
};

struct Case {
  std::string name;
  Op op;
  std::vector<Input> inputs;
  Shape output;  // of the batch
  FeedData feed;
};

// Numbers between low and high, of which some are zero.
std::vector<float> some_floats(Random& random, std::int64_t count, float low = -1, float high = 1);
std::int64_t some_number(Random& random, std::int64_t least, std::int64_t most);

// Inputs with some numbers in them, of each example or of all together.
Input example_input(Random& random, std::int64_t examples, const Shape& example, float low = -1,
                    float high = 1);
Input fixed_input(Random& random, const Shape& shape, float low = -1, float high = 1);
Input input_in_feed(std::int64_t examples, const Shape& example);

// Whether all numbers of its inputs are. What is made of others is a matter of bytes.
bool is_finite(const Case& of);

// The case of an op whose output is of an example; the shape of that follows from the inputs.
Case case_of(std::string name, const Op& op, std::vector<Input> inputs, FeedData feed);

// Of each family (runtime/graph/ops), `rounds` of each kind of op, with shapes by chance.
std::vector<Case> attention_cases(Random& random, int rounds);
std::vector<Case> dense_cases(Random& random, int rounds);
std::vector<Case> dropout_cases(Random& random, int rounds);
std::vector<Case> elementwise_cases(Random& random, int rounds);
std::vector<Case> image_cases(Random& random, int rounds);
std::vector<Case> in_batch_cases(Random& random, int rounds);
std::vector<Case> layout_cases(Random& random, int rounds);
std::vector<Case> loss_cases(Random& random, int rounds);
std::vector<Case> metric_cases(Random& random, int rounds);
std::vector<Case> norm_cases(Random& random, int rounds);
std::vector<Case> product_cases(Random& random, int rounds);
std::vector<Case> recurrent_cases(Random& random, int rounds);
std::vector<Case> reduce_cases(Random& random, int rounds);
std::vector<Case> row_cases(Random& random, int rounds);
std::vector<Case> sequence_loss_cases(Random& random, int rounds);

// Products and convolutions that are large enough for a library, always the same ones.
std::vector<Case> large_cases(Random& random, int rounds);

struct Family {
  std::string name;
  std::vector<Case> (*cases)(Random& random, int rounds);
};
std::vector<Family> families();

}  // namespace trainyard::runtime
