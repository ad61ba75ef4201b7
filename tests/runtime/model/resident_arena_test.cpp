// Parameters that live on a device have the bytes that they have on the host, whatever the rule
// that changes them, and come back when somebody asks.
#include "runtime/graph/resident_arena.h"

#include "tests/runtime/model/arena_of_host.h"

namespace trainyard::runtime::replica_scene {
namespace {

constexpr std::size_t device_bytes = std::size_t{256} << 20;

void fetch(ResidentArena& from, Arena& to) {
  from.fetch_weights(to.weights.span());
  from.fetch_slots(to.slots);
}

// Some steps on both, an evaluation between them.
void check_equal(const Network& network, const OptimizerConfig& optimizer, bool is_late) {
  HostDevice device({.bytes = device_bytes, .is_late = is_late});
  Model here = built(network, nullptr);
  Model there = built(network, &device);
  Arena expected(here, optimizer);
  Arena computed(there, optimizer);
  const auto resident = there.reside(computed.weights.span(), computed.slots);
  REQUIRE(resident != nullptr);
  std::ranges::fill(computed.weights.span(), NAN);  // nobody reads it now
  for (std::int64_t step = 1; step <= 5; ++step) {
    const Batch batch = batch_of(network.data, step, 0);
    const auto of_cpu = here.gradient(expected.weights.span(), batch, expected.gradient.span());
    expected.update(step);
    const auto of_device = there.gradient(computed.weights.span(), batch, computed.gradient.span());
    resident->update(computed.rules, optimizer, Arena::step(step));
    CHECK(are_same(of_cpu, of_device));
    if (step % 2 == 0) {
      const Batch tested = batch_of(network.data, 9, 9);
      CHECK(are_same(here.evaluate(expected.weights.span(), tested),
                     there.evaluate(computed.weights.span(), tested)));
    }
    if (step == 3) {
      fetch(*resident, computed);
      require_same(computed, expected);
    }
  }
  fetch(*resident, computed);
  require_same(computed, expected);
}

}  // namespace

TEST_CASE("parameters that live on a device change as on the host", "[resident][threads]") {
  for (const Network& network : networks()) {
    for (const bool is_late : {false, true}) {
      INFO(network.name << (is_late ? ", late" : ""));
      check_equal(network, decaying(OptimizerKind::adamw), is_late);
    }
  }
}

TEST_CASE("each optimizer has its bytes on a device", "[resident]") {
  const Network normed = networks()[1];
  for (int kind = 0; kind <= static_cast<int>(OptimizerKind::adamw); ++kind) {
    INFO("optimizer " << kind);
    check_equal(normed, decaying(static_cast<OptimizerKind>(kind)), false);
  }
}

TEST_CASE("other parameters than those that live there are brought as ever", "[resident]") {
  const Network network = networks()[0];
  HostDevice device({.bytes = device_bytes});
  Model here = built(network, nullptr);
  Model there = built(network, &device);
  const OptimizerConfig sgd;
  Arena kept(there, sgd);
  Arena other(there, sgd);
  for (float& weight : other.weights.span()) weight *= 0.5F;
  const Batch batch = batch_of(network.data, 1, 0);
  auto resident = there.reside(kept.weights.span(), kept.slots);
  REQUIRE(resident != nullptr);
  for (const bool lives : {true, false}) {
    if (!lives) resident.reset();
    for (Arena* const arena : {&kept, &other}) {
      CHECK(are_same(here.evaluate(arena->weights.span(), batch),
                     there.evaluate(arena->weights.span(), batch)));
    }
  }
  Arena expected(here, sgd);
  here.gradient(kept.weights.span(), batch, expected.gradient.span());
  there.gradient(kept.weights.span(), batch, kept.gradient.span());
  CHECK(same_bytes(kept.gradient.span(), expected.gradient.span()));
}

TEST_CASE("what does not fit on a device stays on the host", "[resident]") {
  const Network network{"wide", models::mlp({1000, 1000}, "relu"), image_shape()};
  HostDevice device({.bytes = device_spare_bytes + (std::size_t{16} << 20)});
  Model there = built(network, &device);
  Arena arena(there, {.kind = OptimizerKind::adam});
  CHECK(there.reside(arena.weights.span(), arena.slots) == nullptr);
  const Batch batch = batch_of(network.data, 1, 0);
  Arena expected(there, {});
  built(network, nullptr).gradient(arena.weights.span(), batch, expected.gradient.span());
  there.gradient(arena.weights.span(), batch, arena.gradient.span());
  CHECK(same_bytes(arena.gradient.span(), expected.gradient.span()));

  Model on_cpu = built(network, nullptr);
  CHECK(on_cpu.reside(arena.weights.span(), arena.slots) == nullptr);
}

TEST_CASE("a device adds up squares exactly, whatever the numbers", "[resident]") {
  const auto sum_there = [](std::span<const float> values) {
    HostDevice device({.bytes = device_bytes, .is_late = true});
    DeviceBuffer numbers(device);
    DeviceBuffer registers(device);
    std::vector<ExactSum::Words> words(static_cast<std::size_t>(square_registers));
    const std::size_t bytes = words.size() * sizeof(ExactSum::Words);
    float* const from = numbers.floats(values.size());
    auto* const to = reinterpret_cast<std::uint64_t*>(registers.of(bytes));
    device.upload(values.data(), from, values.size_bytes());
    device.fill(registers.floats(bytes / sizeof(float)), 0.0F, bytes / sizeof(float));
    device.add_squares(to, from, values.size());
    device.download(to, words.data(), bytes);
    device.wait(device.mark());
    ExactSum sum;
    for (const ExactSum::Words& each : words) sum += ExactSum(each);
    return sum;
  };
  std::mt19937_64 random(3);
  for (const std::size_t count : {1, 15, 16, 17, 1000, 70'000}) {  // of the last some add two lines
    INFO(count << " numbers");
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = static_cast<float>(random() >> 40);
      values.push_back(std::ldexp(bits, static_cast<int>(random() % 250) - 149));
    }
    ExactSum expected;
    ArenaUpdate().add_squares(0, values, expected);
    CHECK(sum_there(values) == expected);
    values[count / 2] = -INFINITY;
    CHECK(std::isnan(sum_there(values).value()));
  }
}

}  // namespace trainyard::runtime::replica_scene
