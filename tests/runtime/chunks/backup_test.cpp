// Sync with backup workers over real sockets: whoever is slow, dead or cut off, the parameters are
// those that one thread makes of the ranks that were named.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>

#include "tests/runtime/chunks/gang.h"
#include "tests/runtime/chunks/name_listener.h"
#include "tests/runtime/chunks/shears.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

using End = std::vector<float>;

std::future<End> start(const GangScene& scene, std::int64_t rank,
                       const std::vector<std::string>& addresses, const WorkerLife& life = {}) {
  return std::async(std::launch::async, [=, &scene] { return work(scene, rank, addresses, life); });
}

// Of threads in which Catch2 cannot be used.
void await(const std::function<bool()>& is_so) {
  if (!eventually(is_so)) throw std::runtime_error("waited in vain");
}
void await(const std::atomic<bool>& flag) {
  await([&] { return flag.load(); });
}

}  // namespace

TEST_CASE("a rank that is never there holds nobody up, and steps are of those who were named") {
  const auto [ranks, aggregate, servers] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{2, 1, 1}, {3, 2, 2}, {4, 2, 2}, {4, 1, 3}}));
  const auto [local, shares] =
      GENERATE(table<bool, bool>({{false, false}, {true, false}, {true, true}}));
  const auto wire = GENERATE(Wire::float32, Wire::bfloat16);
  const GangScene scene{.ranks = ranks,
                        .servers = servers,
                        .max_steps = 10,
                        .push = wire,
                        .pull = wire,
                        .local = local,
                        .shares = shares,
                        .aggregate = aggregate};
  CAPTURE(local, shares, static_cast<int>(wire), ranks, aggregate, servers);
  const Servers gang(scene);
  NameListener listener(scene, ranks - 1, gang.addresses().front());

  std::vector<std::future<End>> lives;
  for (std::int64_t rank = 0; rank + 1 < ranks; ++rank) {
    lives.push_back(start(scene, rank, gang.addresses()));
  }

  const StepRanks made_by = listener.made_by();
  const End wanted = expected(scene, scene.max_steps, made_by);
  for (auto& life : lives) CHECK(life.get() == wanted);
  for (const auto& [step, members] : made_by) CHECK(std::ssize(members) == aggregate);
}

TEST_CASE("a slow rank is left out, counted, and goes on with the newest step") {
  const bool shares = GENERATE(false, true);
  const GangScene scene{
      .ranks = 3, .servers = 2, .max_steps = 12, .local = shares, .shares = shares, .aggregate = 1};
  const Servers gang(scene);
  NameListener listener(scene, 2, gang.addresses().front());
  std::atomic<bool> has_begun = false;
  std::atomic<bool> is_far = false;
  std::vector<std::int64_t> steps_of_slow;

  auto slow = start(scene, 1, gang.addresses(), {.at_step = [&](WorkerLink&, std::int64_t step) {
                      steps_of_slow.push_back(step);
                      has_begun = true;
                      await(is_far);
                    }});
  auto chief =
      start(scene, 0, gang.addresses(), {.at_step = [&](WorkerLink& link, std::int64_t step) {
              await(has_begun);
              is_far = step >= 6;
              if (step == 8) await([&] { return link.chief().left_out()[1] > 0; });
            }});

  const End wanted = expected(scene, scene.max_steps, listener.made_by());
  CHECK(chief.get() == wanted);
  CHECK(slow.get() == wanted);
  REQUIRE(steps_of_slow.front() == 1);
  if (steps_of_slow.size() > 1) CHECK(steps_of_slow[1] >= 6);
}

TEST_CASE("a rank that dies for good is left out, and one that is back takes part again") {
  const auto dies_at = GENERATE(1, 3, 8);
  const bool is_back = GENERATE(false, true);
  const bool shares = GENERATE(false, true);
  const GangScene scene{
      .ranks = 4, .servers = 2, .max_steps = 8, .local = shares, .shares = shares, .aggregate = 2};
  const Servers gang(scene);
  NameListener listener(scene, 3, gang.addresses().front());
  std::atomic<bool> has_begun = false;  // the step in which it dies
  const WorkerLife of_others{.at_step = [&](WorkerLink&, std::int64_t step) {
    if (step == dies_at) await(has_begun);
  }};
  std::vector<std::future<End>> lives;
  for (const std::int64_t rank : {0, 1}) {
    lives.push_back(start(scene, rank, gang.addresses(), of_others));
  }

  const WorkerLife life{.dies_at = dies_at, .at_step = [&](WorkerLink&, std::int64_t step) {
                          if (step == dies_at) has_begun = true;
                        }};
  CHECK(work(scene, 2, gang.addresses(), life).empty());
  if (is_back) lives.push_back(start(scene, 2, gang.addresses()));

  const StepRanks made_by = listener.made_by();
  if (!is_back) CHECK(made_by.at(dies_at) == std::vector<std::int64_t>{0, 1});
  const End wanted = expected(scene, scene.max_steps, made_by);
  for (auto& each : lives) CHECK(each.get() == wanted);
}

TEST_CASE("connections that are cut change nothing but who is late") {
  const auto seed = GENERATE(range(1, 7));
  const GangScene scene{.ranks = 4, .servers = 2, .max_steps = 12, .aggregate = 2};
  const Servers gang(scene);
  NameListener listener(scene, 3, gang.addresses().front());
  std::vector<std::unique_ptr<Shears>> shears;
  std::vector<std::string> addresses;
  for (const std::string& address : gang.addresses()) {
    shears.push_back(std::make_unique<Shears>(
        address, Shears::Rules{.cuts = 6, .bytes_max = 400'000, .seed = seed}));
    addresses.push_back(shears.back()->address());
  }

  std::vector<std::future<End>> lives;
  for (const std::int64_t rank : {0, 1, 2}) lives.push_back(start(scene, rank, addresses));

  const End wanted = expected(scene, scene.max_steps, listener.made_by());
  for (auto& life : lives) CHECK(life.get() == wanted);
  for (const auto& each : shears) CHECK(each->cuts() > 0);
}

TEST_CASE("the chief's snapshot is of a step that is named after it asked, however late it is") {
  const GangScene scene{.ranks = 3, .servers = 2, .max_steps = 12, .aggregate = 1};
  Servers gang(scene);
  NameListener listener(scene, 2, gang.addresses().front());
  std::atomic<bool> is_far = false;
  std::atomic<bool> has_asked = false;
  bool is_asking = false;
  std::int64_t told = 0;

  auto other = start(scene, 1, gang.addresses(), {.at_step = [&](WorkerLink&, std::int64_t step) {
                       is_far = step >= 5;
                       if (step == 7) await(has_asked);
                     }});
  auto chief = start(
      scene, 0, gang.addresses(), {.at_step = [&](WorkerLink& link, std::int64_t) {
        if (told != 0) return;
        if (!std::exchange(is_asking, true)) {
          await(is_far);
          link.chief().want_snapshot(AfterSnapshot::goes_on);
          return;
        }
        // ps 0 has heard it: by a report that came too late, or by one that did not.
        await([&] { return link.chief().left_out()[0] > 0 || link.chief().named_snapshot() > 0; });
        has_asked = true;
        await([&] { return link.chief().named_snapshot() > 0; });
        told = link.chief().named_snapshot();
      }});

  const StepRanks made_by = listener.made_by();
  chief.get();
  other.get();
  REQUIRE(listener.snapshots() == std::vector<std::int64_t>{told});
  CHECK(gang.state_at(scene, told).weights == expected(scene, told, made_by));
}

// As the end saves that of the last step: one that is asked for while it is made comes too late.
TEST_CASE("no snapshot that the chief asks for is of the last step") {
  const auto asked_at = GENERATE(range(2, 4));
  const GangScene scene{.ranks = 2, .servers = 2, .max_steps = 3, .aggregate = 1};
  const Servers gang(scene);
  std::int64_t told = -1;
  const WorkerLife life{
      .at_step =
          [&](WorkerLink& link, std::int64_t step) {
            if (step == asked_at) link.chief().want_snapshot(AfterSnapshot::goes_on);
          },
      .at_end =
          [&](WorkerLink& link) { told = link.chief().await_named_snapshot(asked_at).value(); }};
  start(scene, 0, gang.addresses(), life).get();
  CHECK(told == (asked_at < scene.max_steps ? asked_at : 0));
}

TEST_CASE("which ranks make a step is read as it was written, and nothing else is") {
  const StepMembers members{.ranks = 10, .aggregate = 3};
  const std::vector<std::int64_t> named{0, 7, 9};
  const std::string text = encode_ranks(named, members.ranks);
  const auto payload = std::as_bytes(std::span(text));
  CHECK(payload.size() == 2);
  CHECK(decode_ranks(payload, members).value() == named);

  const auto reads = [&](std::vector<std::byte> bytes) {
    return decode_ranks(bytes, members).has_value();
  };
  CHECK_FALSE(reads({}));
  CHECK_FALSE(reads({payload[0]}));
  CHECK_FALSE(reads({payload[0], payload[1], std::byte{0}}));
  CHECK_FALSE(reads({payload[0], std::byte{0}}));    // two
  CHECK_FALSE(reads({std::byte{3}, std::byte{4}}));  // rank 10
  CHECK_FALSE(reads({std::byte{255}, std::byte{255}}));
  CHECK(reads({std::byte{7}, std::byte{0}}));
}

}  // namespace trainyard::runtime
