// Shares that devices update: what they make is what one thread makes on the CPU, to the bit, and
// what a snapshot has of them is as whole as one of the host.
#include <catch2/catch.hpp>
#include <future>

#include "schemas/base/index.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/runtime/chunks/gang.h"
#include "tests/runtime/chunks/shears.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

std::unique_ptr<Device> late_device(std::int64_t ps) {
  return std::make_unique<HostDevice>(
      HostDeviceSetting{.is_late = true, .seed = static_cast<std::uint64_t>(ps) + 1});
}

// More chunks than may be under way, variables that are frozen, and state.
GangScene scene_on_devices() {
  GangScene scene =
      with_arena_of({.ranks = 2,
                     .servers = 2,
                     .leaves = 4,
                     .chunk_elements = 1024,
                     .variables = {30000, 10, 14100, 700, 33, 2048, 64, 1500, 64, 1500},
                     .frozen = {2, 4},
                     .averages = 4});
  scene.device_of = late_device;
  return scene;
}

// But for padding, which onebit fills with what nobody reads.
bool have_same_bytes(const GangScene& scene, std::span<const float> a, std::span<const float> b) {
  return std::ranges::all_of(variables_of(scene), [&](const Variable& variable) {
    const auto of = [&](std::span<const float> arena) {
      return arena.subspan(index_of(variable.offset), index_of(variable.elements));
    };
    return std::ranges::equal(of(a), of(b));
  });
}

bool have_same_bytes(const GangScene& scene, const GangState& a, const GangState& b) {
  if (a.version != b.version || !have_same_bytes(scene, a.weights, b.weights)) return false;
  return std::ranges::equal(a.slots, b.slots, [&](const auto& one, const auto& other) {
    return have_same_bytes(scene, one, other);
  });
}

// Refuses all updates behind the first so many.
class RefusingDevice : public HostDevice {
 public:
  explicit RefusingDevice(int updates) : left_(updates) {}
  [[nodiscard]] const char* failure() const override {
    return left_ < 0 ? "a kernel's launch: unspecified launch failure" : nullptr;
  }
  void update(const ElementUpdate& update) override {
    if (--left_ >= 0) HostDevice::update(update);
  }

 private:
  int left_;
};

}  // namespace

TEST_CASE("shares that devices update end as one thread has them", "[share]") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16, Wire::onebit);
  const auto pull = GENERATE(Wire::float32, Wire::bfloat16);
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {2, 1}, {2, 2}, {3, 3}}));
  const auto [shares, clip_norm] =
      GENERATE(table<bool, double>({{false, 0.0}, {true, 0.0}, {false, 0.5}, {true, 0.5}}));
  GangScene scene = scene_on_devices();
  scene.push = push;
  scene.pull = pull;
  scene.ranks = ranks;
  scene.servers = servers;
  scene.local = scene.shares = shares;
  scene.clip_norm = clip_norm;
  scene.mean_over = shares ? MeanOver::tokens : MeanOver::examples;
  CAPTURE(shares, static_cast<int>(push), static_cast<int>(pull), ranks, servers, clip_norm);
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses()))
    CHECK(have_same_bytes(scene, end, wanted));
}

TEST_CASE("a share that a device updates has each optimizer's bytes", "[share]") {
  const int kind = GENERATE(range(0, static_cast<int>(OptimizerKind::adamw) + 1));
  CAPTURE(kind);
  GangScene scene = scene_on_devices();
  scene.optimizer = static_cast<OptimizerKind>(kind);
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses())) CHECK(end == wanted);
}

TEST_CASE("connections that are cut anywhere change no bit of shares on devices", "[share]") {
  const auto seed = GENERATE(range(1, 4));
  GangScene scene = scene_on_devices();
  scene.clip_norm = seed % 2 == 0 ? 0.25 : 0;
  scene.max_steps = 10;
  const Servers gang(scene);
  std::vector<std::unique_ptr<Shears>> shears;
  std::vector<std::string> addresses;
  for (const std::string& address : gang.addresses()) {
    shears.push_back(std::make_unique<Shears>(
        address, Shears::Rules{.cuts = 6, .bytes_max = 800'000, .seed = seed}));
    addresses.push_back(shears.back()->address());
  }
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, addresses)) CHECK(end == wanted);
  for (const auto& each : shears) CHECK(each->cuts() > 0);
}

TEST_CASE("a gang goes on from a snapshot of shares on devices on the CPU, and back", "[share]") {
  const bool shares = GENERATE(false, true);
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {3, 2}, {2, 3}}));
  GangScene there = scene_on_devices();
  there.local = there.shares = shares;
  there.max_steps = 7;
  GangScene here = there;
  here.device_of = {};
  const auto state_of = [](const GangScene& scene, const GangState& from, std::int64_t step) {
    Servers gang(scene, from);
    work_all(scene, gang.addresses(), step);
    return gang.state_at(scene, step);
  };
  const GangState on_cpu = state_of(here, first_state(here), 3);
  const GangState on_device = state_of(there, first_state(there), 3);
  REQUIRE(have_same_bytes(here, on_device, on_cpu));
  there.ranks = here.ranks = ranks;
  there.servers = here.servers = servers;
  const GangState to_cpu = state_of(here, on_device, 5);
  const GangState to_device = state_of(there, on_cpu, 5);
  CHECK(have_same_bytes(here, to_cpu, to_device));
  CHECK(to_cpu.weights == expected(here, 5));
}

TEST_CASE("where a device fails nobody is sent what it made, and who waits is told", "[share]") {
  GangScene scene = scene_on_devices();
  scene.servers = 1;
  scene.ranks = 1;
  scene.device_of = [](std::int64_t) { return std::make_unique<RefusingDevice>(100); };
  Servers gang(scene);
  std::stop_source stop;
  auto options = link_options(scene, 0, gang.addresses());
  options.stop = stop.get_token();
  auto worker = std::async(std::launch::async, [&] {
    auto link = WorkerLink::open(std::move(options));
    REQUIRE(link.has_value());
    const GangState first = first_state(scene);
    std::int64_t steps = 0;
    while ((*link)->next().has_value() && (*link)->await_parameters(scene.elements).has_value()) {
      ++steps;
      (*link)->tell_sums(steps, {.examples = 1});
      (*link)->settle(0);
    }
    return steps;
  });
  CHECK(gang.await_failure() == "a kernel's launch: unspecified launch failure");
  stop.request_stop();
  CHECK(worker.get() < scene.max_steps);
}

}  // namespace trainyard::runtime
