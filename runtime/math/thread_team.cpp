#include "runtime/math/thread_team.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Some 20 to 50 us: from one kernel of a step to the next, not from step to step.
constexpr int spins = 1000;

void pause() { __builtin_ia32_pause(); }

constexpr std::uint64_t next_bits = 16;
constexpr std::uint64_t next_mask = (1U << next_bits) - 1;

std::uint64_t next_part(std::uint64_t round) { return round & next_mask; }
std::uint64_t parts_in(std::uint64_t round) { return (round >> next_bits) & next_mask; }
bool has_part(std::uint64_t round) { return next_part(round) < parts_in(round); }

// The round after this one, of so many parts.
std::uint64_t round_after(std::uint64_t round, std::int64_t parts) {
  const std::uint64_t number = (round >> (2 * next_bits)) + 1;
  return number << (2 * next_bits) | static_cast<std::uint64_t>(parts) << next_bits;
}

}  // namespace

ThreadTeam::ThreadTeam(const TeamSetting& setting) : setting_(setting) {
  static_assert(parts_max <= next_mask);
  ENSURE(setting.threads >= 1 && setting.threads <= threads_max);
}

ThreadTeam::~ThreadTeam() {
  is_over_.store(true);
  begun_.fetch_add(1);
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::start() {
  for (std::int64_t member = 1; member < setting_.threads; ++member) {
    threads_.emplace_back([this, member] { serve(member); });
  }
}

void ThreadTeam::run_task(Task task, std::int64_t parts) {
  ENSURE(parts >= 0 && parts <= parts_max);
  if (threads_.empty()) start();
  task_ = task;
  done_.store(0, std::memory_order_relaxed);
  round_.store(round_after(round_.load(std::memory_order_relaxed), parts));
  begun_.fetch_add(1);
  begun_.notify_all();
  while (take_part(0)) {
  }
  await_parts(static_cast<std::int32_t>(parts));
  if (has_failed_.load(std::memory_order_relaxed)) {
    has_failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

// Who takes a part of a round knows that its caller waits, and that the task is that round's: the
// number in front would have changed otherwise.
bool ThreadTeam::take_part(std::int64_t member) {
  std::uint64_t round = round_.load();
  while (has_part(round)) {
    if (!round_.compare_exchange_weak(round, round + 1)) continue;
    try {
      task_.call(task_.what, static_cast<std::int64_t>(next_part(round)), member);
    } catch (...) {
      if (!has_failed_.exchange(true)) failure_ = std::current_exception();
    }
    const auto parts = static_cast<std::int32_t>(parts_in(round));
    if (done_.fetch_add(1) + 1 == parts && member != 0) done_.notify_one();
    return true;
  }
  return false;
}

void ThreadTeam::await_parts(std::int32_t parts) {
  for (int i = 0; i < spins && done_.load() < parts; ++i) pause();
  for (std::int32_t done = done_.load(); done < parts; done = done_.load()) done_.wait(done);
}

void ThreadTeam::serve(std::int64_t member) {
  while (true) {
    const std::int32_t begun = begun_.load();  // what comes after it ends the wait
    if (is_over_.load()) return;
    if (take_part(member)) continue;
    for (int i = 0; i < spins && begun_.load() == begun; ++i) pause();
    begun_.wait(begun);
  }
}

}  // namespace trainyard::runtime
