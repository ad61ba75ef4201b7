#include "tests/conformance/case.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/graph/op.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

std::vector<float> some_floats(Random& random, std::int64_t count, float low, float high) {
  std::uniform_real_distribution<float> between(low, high);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = between(random);
    if (low <= 0 && high >= 0 && random() % 16 == 0) value = 0;
  }
  return values;
}

std::int64_t some_number(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

Input example_input(Random& random, std::int64_t examples, const Shape& example, float low,
                    float high) {
  Input input = input_in_feed(examples, example);
  input.values = some_floats(random, input.shape.elements(), low, high);
  input.is_in_feed = false;
  input.wants_gradient = true;
  return input;
}

Input fixed_input(Random& random, const Shape& shape, float low, float high) {
  return {
      .values = some_floats(random, shape.elements(), low, high), .shape = shape, .is_fixed = true};
}

Input input_in_feed(std::int64_t examples, const Shape& example) {
  Shape shape{examples};
  for (const std::int64_t size : example.sizes()) shape.append(size);
  return {.values = {}, .shape = shape, .is_in_feed = true, .wants_gradient = false};
}

bool is_finite(const Case& of) {
  return std::ranges::all_of(of.inputs, [](const Input& input) {
    return std::ranges::all_of(input.values, [](float value) { return std::isfinite(value); });
  });
}

Case case_of(std::string name, const Op& op, std::vector<Input> inputs, FeedData feed) {
  std::vector<Shape> of_example;
  for (const Input& input : inputs) {
    of_example.push_back(input.is_fixed ? input.shape : Shape(input.shape.sizes().subspan(1)));
  }
  const Shape example = output_shape(op, of_example);
  Shape output{feed.examples};
  for (const std::int64_t size : example.sizes()) output.append(size);
  return {.name = std::move(name),
          .op = op,
          .inputs = std::move(inputs),
          .output = output,
          .feed = std::move(feed)};
}

std::vector<Family> families() {
  return {{"attention", attention_cases},
          {"dense", dense_cases},
          {"dropout", dropout_cases},
          {"elementwise", elementwise_cases},
          {"image", image_cases},
          {"in_batch", in_batch_cases},
          {"layout", layout_cases},
          {"loss", loss_cases},
          {"metric", metric_cases},
          {"norm", norm_cases},
          {"product", product_cases},
          {"recurrent", recurrent_cases},
          {"reduce", reduce_cases},
          {"row", row_cases},
          {"sequence_loss", sequence_loss_cases}};
}

}  // namespace trainyard::runtime
