// Several models that compute a step together give the bytes of one, whichever is faster, and end
// together when one of them cannot go on.
#include "runtime/model/replicas.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "tests/runtime/model/replica_scene.h"

namespace trainyard::runtime::replica_scene {
namespace {

using Step = Replicas::Step;

constexpr std::size_t device_bytes = std::size_t{64} << 20;

// Late: every second one, so that others are far ahead of it.
enum class On { cpu, device, late_device };

struct Devices {
  Devices(std::size_t count, On on) {
    for (std::size_t i = 0; i < count; ++i) {
      const HostDeviceSetting setting{
          .bytes = device_bytes, .is_late = on == On::late_device && i % 2 == 0, .seed = 7 + i};
      if (on != On::cpu) owned.push_back(std::make_unique<HostDevice>(setting));
      all.push_back(on == On::cpu ? nullptr : owned.back().get());
    }
  }
  std::vector<std::unique_ptr<HostDevice>> owned;
  std::vector<Device*> all;
};

// Some steps, with other parameters each.
void check_equal(const Network& network, const std::vector<Leaves>& nodes, std::size_t count,
                 On on) {
  INFO(network.name << ", " << count << " replicas, leaves " << nodes.front().begin << " to "
                    << nodes.back().end);
  const Devices devices(count, on);
  Scene scene(network, nodes, devices.all);
  for (std::int64_t number = 1; number <= (on == On::late_device ? 2 : 3); ++number) {
    const Sums expected = scene.expected(number);
    const Step step = scene.step(number, expected);
    const auto done = scene.replicas().add_up(step);
    REQUIRE((done.has_value() && *done));
    CHECK(same_bytes(scene.computed().gradient, expected.gradient));
    CHECK(std::ranges::equal(scene.computed().results, expected.results, are_same));
    for (std::size_t i = 0; i < scene.parameters().size(); ++i) {
      scene.parameters()[i] -= 0.01F * expected.gradient[i];
    }
  }
}

// Fails once so much was asked of it.
class FailingDevice : public HostDevice {
 public:
  explicit FailingDevice(int uploads)
      : HostDevice({.bytes = device_bytes, .is_late = true}), left_(uploads) {}
  [[nodiscard]] const char* failure() const override { return left_ > 0 ? nullptr : "it broke"; }
  void upload(const void* host, void* device, std::size_t bytes) override {
    --left_;
    HostDevice::upload(host, device, bytes);
  }

 private:
  std::atomic<int> left_;
};

// Opened once.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  // False: it was not opened in time.
  bool pass() {
    std::unique_lock lock(mutex_);
    return opened_.wait_for(lock, std::chrono::seconds(60), [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

// Gives a gradient of so many bytes only when the gate is open.
class HoldingDevice : public HostDevice {
 public:
  HoldingDevice(std::size_t bytes, Gate& gate)
      : HostDevice({.bytes = device_bytes}), held_(bytes), gate_(gate) {}
  void download(const void* device, void* host, std::size_t bytes) override {
    if (bytes == held_ && !gate_.pass()) was_late = true;
    HostDevice::download(device, host, bytes);
  }
  bool was_late = false;

 private:
  const std::size_t held_;
  Gate& gate_;
};

const std::vector<Leaves> four_leaves{{0, 4}};

}  // namespace

TEST_CASE("replicas on devices have the bytes of one model", "[replicas][threads]") {
  const auto on = GENERATE(On::device, On::late_device);
  for (const Network& network : networks()) {
    for (const std::size_t count : {1, 2, 3, 4}) {
      // On a busy machine each operation of a late device takes long.
      if (on == On::late_device && (count % 2 == 1 || network.name == "gpt")) continue;
      check_equal(network, four_leaves, count, on);
    }
  }
}

TEST_CASE("replicas on the CPU have the bytes of one model", "[replicas][threads]") {
  for (const Network& network : networks()) {
    for (const std::size_t count : {1, 2, 3, 4}) check_equal(network, four_leaves, count, On::cpu);
  }
}

TEST_CASE("replicas divide any run of leaves, and nodes of one leaf each", "[replicas][threads]") {
  const std::vector<Network> all = networks();
  for (const std::size_t count : {2, 3, 4}) {
    check_equal(all[1], roots_of({3, 10}, 11), count, On::cpu);
    check_equal(all[1], roots_of({0, 5}, 5), count, On::device);
    check_equal(all[0], roots_of({2, 9}, 12), count, On::device);
    check_equal(all[0], {{2, 3}, {3, 4}, {4, 5}, {5, 6}}, count, On::cpu);
  }
}

TEST_CASE("what is final of all replicas leaves while they compute the rest",
          "[replicas][threads]") {
  // The second layer's gradient is large enough to come down by itself.
  const Network network{"wide mlp", models::mlp({600, 600}, "relu"), image_shape()};
  constexpr std::size_t first_layer_bytes = (36 * 600 + 600) * sizeof(float);
  for (const bool holds_all : {true, false}) {
    Gate gate;
    HostDevice free({.bytes = device_bytes});
    std::vector<std::unique_ptr<HoldingDevice>> holding;
    std::vector<Device*> devices{&free};
    for (int i = 0; i < 2; ++i) {
      holding.push_back(std::make_unique<HoldingDevice>(first_layer_bytes, gate));
      devices.push_back(holding.back().get());
    }
    if (holds_all) devices.erase(devices.begin());  // else the first has long computed all
    Scene scene(network, {{0, std::ssize(devices)}}, devices);
    const Sums expected = scene.expected(1);
    Step step = scene.step(1, expected);
    const auto settle = step.settle;
    step.settle = [&](std::int64_t from) {
      settle(from);
      gate.open();
    };
    REQUIRE(*scene.replicas().add_up(step));
    CHECK(scene.settled() > 0);
    for (const auto& device : holding) CHECK_FALSE(device->was_late);
    CHECK(same_bytes(scene.computed().gradient, expected.gradient));
  }
}

TEST_CASE("a step without a batch ends without being settled, and the next is whole",
          "[replicas][threads]") {
  const auto on = GENERATE(On::cpu, On::late_device);
  const auto stopped = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2});
  const Devices devices(3, on);
  Scene scene(networks()[1], {{0, 8}}, devices.all);
  const Sums expected = scene.expected(1);
  Step step = scene.step(1, expected);
  std::atomic<int> asked = 0;
  const auto next_batch = step.next_batch;
  step.next_batch = [&](std::size_t replica) -> const Batch* {
    if (replica == stopped && ++asked == 2) return nullptr;
    return next_batch(replica);
  };
  const auto done = scene.replicas().add_up(step);
  REQUIRE(done.has_value());
  CHECK_FALSE(*done);
  CHECK(scene.settled() == 0);
  CHECK(scene.computed().results.empty());

  const Step again = scene.step(1, expected);
  REQUIRE(*scene.replicas().add_up(again));
  CHECK(same_bytes(scene.computed().gradient, expected.gradient));
}

TEST_CASE("parameters that do not come end the step on all replicas", "[replicas][threads]") {
  const Devices devices(2, On::late_device);
  Scene scene(networks()[3], four_leaves, devices.all);
  const Sums expected = scene.expected(1);
  for (const int awaited : {0, 1, 5}) {
    Step step = scene.step(1, expected);
    int calls = 0;
    const auto await = step.await;
    step.await = [&](std::int64_t end) -> Status {
      if (calls++ == awaited) return unavailable("ps/0 is gone");
      return await(end);
    };
    const auto done = scene.replicas().add_up(step);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error() == unavailable("ps/0 is gone"));
    CHECK(scene.settled() == 0);
  }
}

TEST_CASE("what is said of the results decides whether the step streams", "[replicas][threads]") {
  const Devices devices(2, On::cpu);
  Scene scene(networks()[0], four_leaves, devices.all);
  const Sums expected = scene.expected(1);

  Step waits = scene.step(1, expected);
  waits.on_results = [](std::span<const BatchResult>) { return Result(Step::Then::waits); };
  REQUIRE(*scene.replicas().add_up(waits));
  CHECK(scene.settled() == 0);
  CHECK(same_bytes(scene.computed().gradient, expected.gradient));

  Step refused = scene.step(1, expected);
  refused.on_results = [](std::span<const BatchResult>) -> Result<Step::Then> {
    return conflict("no checkpoint");
  };
  const auto done = scene.replicas().add_up(refused);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error() == conflict("no checkpoint"));
  CHECK(scene.settled() == 0);

  Step throws = scene.step(1, expected);
  throws.on_results = [](std::span<const BatchResult>) -> Result<Step::Then> {
    throw std::runtime_error("full");
  };
  CHECK_THROWS_WITH(scene.replicas().add_up(throws), "full");

  const Step again = scene.step(1, expected);
  REQUIRE(*scene.replicas().add_up(again));
  CHECK(same_bytes(scene.computed().gradient, expected.gradient));
}

TEST_CASE("a device that fails ends the step, whenever it does", "[replicas][threads]") {
  const Network network = networks()[0];
  bool is_whole = false;
  int failed = 0;
  for (int uploads = 1; !is_whole; ++uploads) {
    INFO("after " << uploads << " uploads");
    REQUIRE(uploads < 200);
    const Devices sound(2, On::device);
    FailingDevice failing(uploads);
    Scene scene(network, four_leaves, {sound.all[0], &failing, sound.all[1]});
    const Sums expected = scene.expected(1);
    const Step step = scene.step(1, expected);
    try {
      const auto done = scene.replicas().add_up(step);
      is_whole = done.has_value() && *done;
      REQUIRE(is_whole);
    } catch (const DeviceFailed& failure) {
      CHECK(std::string(failure.what()) == "it broke");
      ++failed;
    }
  }
  CHECK(failed > 5);  // in the forward pass, between leaves, behind the last loss
}

}  // namespace trainyard::runtime::replica_scene
