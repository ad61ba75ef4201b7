#include "runtime/math/optim/optimizer.h"

#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

constexpr std::array all_kinds{OptimizerKind::sgd,      OptimizerKind::momentum,
                               OptimizerKind::nesterov, OptimizerKind::adagrad,
                               OptimizerKind::rmsprop,  OptimizerKind::adadelta,
                               OptimizerKind::adam,     OptimizerKind::adamw};
constexpr std::array<std::string_view, 8> all_names{"sgd",     "momentum", "nesterov", "adagrad",
                                                    "rmsprop", "adadelta", "adam",     "adamw"};

OptimizerKind kind_of(const std::string& name) {
  return all_kinds[static_cast<std::size_t>(std::ranges::find(all_names, name) -
                                            all_names.begin())];
}

// Weights with the slots of their optimizer.
struct Trained {
  std::vector<float> weights;
  std::vector<std::vector<float>> slots;

  Trained(OptimizerKind kind, std::vector<float> start)
      : weights(std::move(start)),
        slots(slot_names(kind).size(), std::vector<float>(weights.size())) {}

  // Updates [begin, end) in place.
  void update(const OptimizerConfig& config, std::int64_t step, const std::vector<float>& gradient,
              std::size_t begin, std::size_t end) {
    std::vector<std::span<float>> ranges;
    for (auto& slot : slots) ranges.push_back(std::span(slot).subspan(begin, end - begin));
    const auto range = std::span(weights).subspan(begin, end - begin);
    apply_update(config, 0.1, step, 0.5F, std::span(gradient).subspan(begin, end - begin), range,
                 range, ranges);
  }
};

}  // namespace

TEST_CASE("ten steps of every optimizer are PyTorch's, with weight decay and without",
          "[optimizer][golden]") {
  for (const auto& reference : load_golden("optimizers.json")) {
    OptimizerConfig config;
    config.kind = kind_of(reference["name"]);
    config.epsilon = reference["epsilon"];
    config.weight_decay = reference["weight_decay"];
    Trained trained(config.kind, reference["start"]);
    for (std::size_t step = 0; step < 10; ++step) {
      INFO(reference["name"] << ", decay " << config.weight_decay << ", step " << step + 1);
      std::vector<float> gradient = reference["gradients"][step];
      for (float& value : gradient) value *= 2;  // update() halves it again: gradient_scale
      trained.update(config, static_cast<std::int64_t>(step) + 1, gradient, 0, gradient.size());
      require_close(trained.weights, reference["weights"][step].get<std::vector<float>>(), 3e-6);
    }
  }
}

TEST_CASE("an update is the same to the bit however the range is cut, and by any vectors",
          "[optimizer]") {
  warn_without_avx512();
  constexpr std::size_t count = 1003;
  for (const OptimizerKind kind : all_kinds) {
    OptimizerConfig config;
    config.kind = kind;
    config.weight_decay = 0.01F;
    Trained whole(kind, random_floats(count, 1));
    Trained cut(kind, random_floats(count, 1));
    Trained narrow(kind, random_floats(count, 1));
    for (std::int64_t step = 1; step <= 4; ++step) {
      const auto gradient = random_floats(count, 10 + static_cast<std::uint64_t>(step));
      whole.update(config, step, gradient, 0, count);
      std::size_t begin = 0;
      for (const std::size_t length : {1, 2, 3, 15, 16, 17, 64, 300, 7}) {
        cut.update(config, step, gradient, begin, begin + length);
        begin += length;
      }
      cut.update(config, step, gradient, begin, count);
      {
        const WithoutAvx512 hidden;
        narrow.update(config, step, gradient, 0, count);
      }
      require_same_bits(cut.weights, whole.weights);
      require_same_bits(narrow.weights, whole.weights);
      for (std::size_t slot = 0; slot < whole.slots.size(); ++slot) {
        require_same_bits(cut.slots[slot], whole.slots[slot]);
        require_same_bits(narrow.slots[slot], whole.slots[slot]);
      }
    }
  }
}

TEST_CASE("an update into other memory is the same as one in place, and leaves the weights",
          "[optimizer]") {
  constexpr std::size_t count = 77;
  const auto gradient = random_floats(count, 2);
  for (const OptimizerKind kind : all_kinds) {
    OptimizerConfig config;
    config.kind = kind;
    Trained in_place(kind, random_floats(count, 1));
    Trained apart(kind, random_floats(count, 1));
    std::vector<float> out(count);
    std::vector<std::span<float>> slots(apart.slots.begin(), apart.slots.end());

    in_place.update(config, 1, gradient, 0, count);
    apply_update(config, 0.1, 1, 0.5F, gradient, apart.weights, out, slots);

    require_same_bits(out, in_place.weights);
    require_same_bits(apart.weights, random_floats(count, 1));
  }
}

TEST_CASE("padding stays zero under every optimizer", "[optimizer]") {
  const std::vector<float> zeros(16);
  for (const OptimizerKind kind : all_kinds) {
    OptimizerConfig config;
    config.kind = kind;
    config.weight_decay = 0.1F;
    Trained padding(kind, zeros);
    for (std::int64_t step = 1; step <= 3; ++step) padding.update(config, step, zeros, 0, 16);
    require_same_bits(padding.weights, zeros);
    for (const auto& slot : padding.slots) require_same_bits(slot, zeros);
  }
}

TEST_CASE("adam stays exact after very many steps", "[optimizer]") {
  OptimizerConfig config;
  config.kind = OptimizerKind::adam;
  Trained trained(config.kind, {1.0F});
  trained.update(config, std::int64_t{1} << 40, {1.0F}, 0, 1);  // the bias correction is 1 by then
  REQUIRE(static_cast<double>(trained.weights[0]) ==
          Approx(1.0 - 0.1 * 0.05 / (std::sqrt(0.00025))));
}

}  // namespace trainyard::runtime
