#include "runtime/math/ops/token_loss.h"

#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime::token_loss_tests {

TEST_CASE("sums of tokens' cross entropies and their gradients are PyTorch's", "[loss][golden]") {
  const auto golden = load_golden("sequences.json")["tokens"];
  for (const auto& reference : golden) {
    const std::vector<std::int32_t> lengths = reference["lengths"];
    const std::vector<std::int32_t> labels = reference["labels"];
    const std::vector<float> logits = reference["logits"];
    const std::vector<float> upstream = reference["upstream"];
    const Shape shape{std::ssize(lengths), reference["time"], reference["classes"]};
    const TokenLabels read{
        .labels = labels, .lengths = lengths, .smoothing = reference["smoothing"]};
    std::vector<float> losses(lengths.size());
    std::vector<float> probabilities(logits.size(), 9.0F);
    std::vector<float> scratch(static_cast<std::size_t>(shape[1]));
    token_cross_entropy(tensor_of(logits, shape), read, tensor_of(losses, {shape[0]}),
                        tensor_of(probabilities, shape), tensor_of(scratch, {shape[1]}));
    require_close(losses, reference["losses"].get<std::vector<float>>(), 2e-6);

    const auto expected = reference["logits_gradient"].get<std::vector<float>>();
    for (const Write write : {Write::overwrite, Write::add}) {
      std::vector<float> gradient(logits.size(), 1.0F);
      token_cross_entropy_gradient(read, {.probabilities = tensor_of(probabilities, shape),
                                          .losses_gradient = tensor_of(upstream, {shape[0]}),
                                          .token_gradients = tensor_of(scratch, {shape[1]}),
                                          .logits_gradient = tensor_of(gradient, shape),
                                          .write = write});
      if (write == Write::add) {
        for (float& value : gradient) value -= 1;
      }
      require_close(gradient, expected, 1e-6);
    }
  }
}

TEST_CASE("without lengths every token counts", "[loss]") {
  const Shape shape{2, 3, 4};
  const std::vector<float> logits = random_floats(24, 1);
  const std::vector<std::int32_t> labels{0, 3, 1, 2, 2, 0};
  std::vector<float> probabilities(24);
  std::vector<float> scratch(3);
  const auto losses_with = [&](const std::vector<std::int32_t>& lengths) {
    std::vector<float> losses(2);
    token_cross_entropy(tensor_of(logits, shape), {.labels = labels, .lengths = lengths},
                        tensor_of(losses, {2}), tensor_of(probabilities, shape),
                        tensor_of(scratch, {3}));
    return losses;
  };
  require_same_bits(losses_with({}), losses_with({3, 3}));
  REQUIRE(losses_with({3, 2})[1] < losses_with({})[1]);
}

TEST_CASE("of tokens as many match as have their label's logit before all others", "[loss]") {
  const Shape shape{2, 3, 4};
  const std::vector<float> logits{0, 5, 1, 2, 3, 3, 1, 0, -1, -2, -3, -1,
                                  4, 5, 6, 7, 1, 1, 1, 1, 0,  9,  0,  0};
  const std::vector<std::int32_t> labels{1, 1, 0, 3, 0, 1};
  std::vector<float> scratch(3);
  const auto matches_with = [&](const std::vector<std::int32_t>& lengths) {
    std::vector<float> matches(2);
    match_tokens(tensor_of(logits, shape), {.labels = labels, .lengths = lengths},
                 tensor_of(matches, {2}), tensor_of(scratch, {3}));
    return matches;
  };
  CHECK(matches_with({}) == std::vector<float>{2, 3});
  CHECK(matches_with({1, 2}) == std::vector<float>{1, 2});
  CHECK(matches_with({2, 1}) == std::vector<float>{1, 1});
}

}  // namespace trainyard::runtime::token_loss_tests
