// A share that lives on a device changes as on the host, in whatever order its parts go there.
#include "runtime/graph/device_share.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "runtime/graph/device_memory.h"
#include "schemas/base/index.h"
#include "tests/conformance/mirror/host_device.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t part_elements = 512;
constexpr std::int64_t parts = 40;  // more than may be under way
constexpr std::int64_t first_in_arena = 16 * 77;

// Of which some decay, some do not, and one is frozen: borders lie within parts.
ArenaUpdate rules() {
  std::vector<Variable> variables;
  const auto add = [&](std::vector<std::int64_t> shape, std::int64_t elements, UpdateRule rule) {
    const std::int64_t at = variables.empty() ? 0 : variables.back().offset + 5008;
    variables.push_back({.name = "v",
                         .shape = std::move(shape),
                         .offset = at,
                         .elements = elements,
                         .update = rule});
  };
  add({50, 100}, 5000, UpdateRule::optimizer);
  add({5000}, 5000, UpdateRule::optimizer);
  add({50, 100}, 5000, UpdateRule::none);
  add({50, 400}, 20000, UpdateRule::optimizer);
  return {variables, DecayedVariables::matrices};
}

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = 0.001F * static_cast<float>(random() % 2000) - 1;
  return values;
}

bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// On the host, and on a device; the share's elements from the first to the last part.
struct Scene {
  explicit Scene(OptimizerKind kind)
      : optimizer{.kind = kind, .weight_decay = 0.01F}, update(rules()), weights(index_of(count)) {
    std::ranges::copy(noise(weights.size(), 1), weights.data());
    for (std::size_t i = 0; i < slot_names(kind).size(); ++i) {
      std::ranges::transform(noise(weights.size(), 2), slots.emplace_back(weights.size()).data(),
                             [](float value) { return value * value; });
    }
  }

  std::unique_ptr<DeviceShare> on(std::unique_ptr<Device> device) const {
    return DeviceShare::open(std::move(device),
                             {.update = update, .optimizer = optimizer, .part_max = part_elements},
                             weights.span(), slots);
  }

  static ResidentShare::Part part(std::int64_t number) {
    const std::int64_t at = number * part_elements;
    return {.in_share = at, .in_arena = first_in_arena + at, .count = part_elements};
  }
  static std::vector<float> sum_of(std::int64_t number, std::int64_t step) {
    return noise(index_of(part_elements), static_cast<unsigned>(1000 * step + number));
  }
  [[nodiscard]] static UpdateStep step(std::int64_t number) {
    return {.learning_rate = 0.05, .number = number, .gradient_scale = 0.25F};
  }
  static std::span<float> of(AlignedBuffer& arena, const ResidentShare::Part& part) {
    return arena.span().subspan(index_of(part.in_share), index_of(part.count));
  }
  std::vector<std::span<float>> slots_of(const ResidentShare::Part& part) {
    std::vector<std::span<float>> spans;
    for (AlignedBuffer& slot : slots) spans.push_back(of(slot, part));
    return spans;
  }

  void update_on_host(std::int64_t number, std::int64_t at_step) {
    const auto which = part(number);
    update.apply(optimizer, step(at_step), which.in_arena,
                 {.gradient = sum_of(number, at_step),
                  .weights = of(weights, which),
                  .out = of(weights, which),
                  .slots = slots_of(which)});
  }

  static constexpr std::int64_t count = parts * part_elements;
  OptimizerConfig optimizer;
  ArenaUpdate update;
  AlignedBuffer weights;
  std::vector<AlignedBuffer> slots;
};

std::vector<std::int64_t> some_order(unsigned seed) {
  std::vector<std::int64_t> order(index_of(parts));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

void step_on(DeviceShare& share, std::int64_t step, AlignedBuffer& weights) {
  std::deque<ResidentShare::Part> under_way;
  const auto take = [&] {
    share.take(Scene::of(weights, under_way.front()));
    under_way.pop_front();
  };
  std::mt19937 random(static_cast<unsigned>(step));
  for (const std::int64_t number : some_order(static_cast<unsigned>(step))) {
    while (under_way.size() == share.parts_max() || (!under_way.empty() && random() % 4 == 0)) {
      take();
    }
    std::ranges::copy(Scene::sum_of(number, step), share.room(part_elements).begin());
    under_way.push_back(Scene::part(number));
    share.update(under_way.back(), Scene::step(step));
  }
  while (!under_way.empty()) take();
}

class FailedDevice : public HostDevice {
 public:
  FailedDevice(const HostDeviceSetting& setting, const bool& has_failed)
      : HostDevice(setting), has_failed_(has_failed) {}
  [[nodiscard]] const char* failure() const override {
    return has_failed_ ? "the GPU's work: unspecified launch failure" : nullptr;
  }

 private:
  const bool& has_failed_;
};

}  // namespace

TEST_CASE("a share on a device has the bytes of the host, by each optimizer", "[graph][share]") {
  const int kind = GENERATE(range(0, static_cast<int>(OptimizerKind::adamw) + 1));
  const bool is_late = GENERATE(false, true);
  CAPTURE(kind, is_late);
  Scene host(static_cast<OptimizerKind>(kind));
  const auto share = host.on(std::make_unique<HostDevice>(HostDeviceSetting{.is_late = is_late}));
  REQUIRE(share != nullptr);
  AlignedBuffer weights(host.weights.size());
  for (std::int64_t step = 1; step <= 4; ++step) {
    for (std::int64_t number = 0; number < parts; ++number) host.update_on_host(number, step);
    step_on(*share, step, weights);
    REQUIRE(same_bytes(weights.span(), host.weights.span()));
  }
  for (std::int64_t number = 0; number < parts; ++number) {
    std::vector<std::vector<float>> fetched(host.slots.size(),
                                            std::vector<float>(index_of(part_elements)));
    const std::vector<std::span<float>> places(fetched.begin(), fetched.end());
    share->fetch_slots(Scene::part(number), places);
    const auto wanted = host.slots_of(Scene::part(number));
    for (std::size_t i = 0; i < wanted.size(); ++i) REQUIRE(same_bytes(fetched[i], wanted[i]));
  }
}

TEST_CASE("a share does not go where it leaves nothing to spare", "[graph][share]") {
  const Scene scene(OptimizerKind::adam);
  constexpr std::size_t needed = (3 * Scene::count + 16 * part_elements) * sizeof(float);
  const auto on_device_of = [&](std::size_t bytes) {
    return scene.on(std::make_unique<HostDevice>(HostDeviceSetting{.bytes = bytes}));
  };
  CHECK(on_device_of(device_spare_bytes + needed - 256) == nullptr);
  CHECK(on_device_of(device_spare_bytes + needed) != nullptr);
}

TEST_CASE("a device that fails gives nothing of a share", "[graph][share]") {
  const Scene scene(OptimizerKind::momentum);
  bool has_failed = true;
  const auto open = [&] {
    return scene.on(std::make_unique<FailedDevice>(HostDeviceSetting{}, has_failed));
  };
  CHECK_THROWS_AS(open(), DeviceFailed);
  has_failed = false;
  const auto share = open();
  std::vector<float> weights(index_of(part_elements));
  std::ranges::fill(share->room(part_elements), 1.0F);
  share->update(Scene::part(0), Scene::step(1));
  has_failed = true;
  CHECK_THROWS_AS(share->take(weights), ShareFailed);
}

}  // namespace trainyard::runtime
