// The loss of two towers against PyTorch's numbers (tests/golden/make_recommenders.py).
#include "runtime/math/ops/in_batch_softmax.h"

#include "runtime/math/aligned_buffer.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

struct GoldenTowers {
  nlohmann::json reference = load_golden("recommenders.json")["in_batch_softmax"];
  std::int64_t examples = reference["examples"];
  std::int64_t features = reference["features"];
  std::vector<float> users = reference["users"];
  std::vector<float> items = reference["items"];
  float temperature = reference["temperature"];
  Shape shape{examples, features};
  AlignedBuffer scratch{(in_batch_scratch_bytes(examples) + 3) / 4};

  [[nodiscard]] Towers towers() const {
    return {.users = {users.data(), shape}, .items = {items.data(), shape}};
  }
  [[nodiscard]] std::span<std::byte> room() { return std::as_writable_bytes(scratch.span()); }
};

}  // namespace

TEST_CASE("losses and gradients of two towers are PyTorch's", "[in_batch][golden]") {
  GoldenTowers golden;
  const auto count = static_cast<std::size_t>(golden.examples);
  std::vector<float> losses(count);
  std::vector<float> probabilities(count * count);
  const Shape pairs{golden.examples, golden.examples};
  in_batch_softmax(golden.towers(), golden.temperature, {losses.data(), {golden.examples}},
                   {probabilities.data(), pairs}, golden.room());
  require_close(losses, golden.reference["losses"].get<std::vector<float>>(), 1e-5);

  const std::vector<float> weights = golden.reference["weights"];
  std::vector<float> users(golden.users.size());
  std::vector<float> items(golden.items.size(), 1.0F);
  in_batch_softmax_gradient(
      golden.towers(), golden.temperature, {probabilities.data(), pairs},
      {weights.data(), {golden.examples}},
      {{{users.data(), golden.shape}}, {{items.data(), golden.shape}, Write::add}}, golden.room());
  require_close(users, golden.reference["users_gradient"].get<std::vector<float>>(), 1e-5);
  for (float& value : items) value -= 1;
  require_close(items, golden.reference["items_gradient"].get<std::vector<float>>(), 2e-5);
}

TEST_CASE("two towers with how often each item comes are PyTorch's", "[in_batch][golden]") {
  GoldenTowers golden;
  const nlohmann::json corrected = golden.reference["corrected"];
  const auto numbers = [&corrected](const char* name) {
    return corrected[name].get<std::vector<float>>();
  };
  const auto count = static_cast<std::size_t>(golden.examples);
  const Shape pairs{golden.examples, golden.examples};
  const std::vector<float> log_frequency = numbers("log_frequency");
  Towers towers = golden.towers();
  towers.log_frequency = ConstTensor{log_frequency.data(), {golden.examples}};
  std::vector<float> losses(count);
  std::vector<float> probabilities(count * count);
  in_batch_softmax(towers, golden.temperature, {losses.data(), {golden.examples}},
                   {probabilities.data(), pairs}, golden.room());
  require_close(losses, numbers("losses"), 1e-5);

  const std::vector<float> weights = golden.reference["weights"];
  std::vector<float> users(golden.users.size());
  std::vector<float> items(golden.items.size());
  std::vector<float> frequency(count, 1.0F);
  in_batch_softmax_gradient(towers, golden.temperature, {probabilities.data(), pairs},
                            {weights.data(), {golden.examples}},
                            {{{users.data(), golden.shape}},
                             {{items.data(), golden.shape}},
                             {{frequency.data(), {golden.examples}}, Write::add}},
                            golden.room());
  require_close(users, numbers("users_gradient"), 2e-5);
  require_close(items, numbers("items_gradient"), 2e-5);
  for (float& value : frequency) value -= 1;
  require_close(frequency, numbers("log_frequency_gradient"), 2e-5);
}

TEST_CASE("an item is found in a batch where fewer than k are before it", "[in_batch]") {
  GoldenTowers golden;
  const std::vector<std::int64_t> before = golden.reference["before_own"];
  for (const std::int64_t k : {1, 2, 4, 7}) {
    std::vector<float> matches(before.size());
    match_in_batch(k, golden.towers(), {matches.data(), {golden.examples}}, golden.room());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(matches[i] == (before[i] < k ? 1.0F : 0.0F));
    }
  }
}

}  // namespace trainyard::runtime
