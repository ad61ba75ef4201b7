// Threads that share the work of one kernel: the calling one, and n - 1 that stay for the next.
//
// A kernel divides its output among them, never a sum: each number is computed by one thread, in
// the order that the kernel documents, so that no bit depends on how many threads there are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

namespace trainyard::runtime {

struct TeamSetting {
  std::int64_t threads = 1;  // the calling one among them
  // Of one core: less work than this is not worth another thread, which takes some microseconds to
  // hear of it. Tests make it 0.
  double least_nanoseconds = 25e3;
};

// One thread at a time calls run(); work that a team runs calls it no more.
class ThreadTeam {
 public:
  static constexpr std::int64_t threads_max = 1024;
  static constexpr std::int64_t parts_max = 4 * threads_max;

  explicit ThreadTeam(const TeamSetting& setting);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] const TeamSetting& setting() const { return setting_; }

  // Calls work(part, member) for each part from 0 to parts - 1 and returns once all are done.
  // `member` tells threads apart: 0 is the calling one. Whoever is free takes the next part, so
  // that nobody waits for a thread that has not begun. What a part throws is thrown again here,
  // after the others; of several the first. The other threads start with the first call.
  template <class Work>
  void run(std::int64_t parts, Work&& work) {
    using Plain = std::remove_reference_t<Work>;
    run_task({.call =
                  [](const void* what, std::int64_t part, std::int64_t member) {
                    (*static_cast<Plain*>(const_cast<void*>(what)))(part, member);  // NOLINT
                  },
              .what = &work},
             parts);
  }

 private:
  struct Task {
    void (*call)(const void* what, std::int64_t part, std::int64_t member) = nullptr;
    const void* what = nullptr;
  };

  void run_task(Task task, std::int64_t parts);
  void start();
  void serve(std::int64_t member);
  bool take_part(std::int64_t member);
  void await_parts(std::int32_t parts);

  const TeamSetting setting_;
  std::vector<std::thread> threads_;

  // Written by the caller of run() before it publishes the round; read by those who have taken a
  // part of it, for whom the caller waits.
  Task task_;
  // The round's number (32 bits), how many parts it has (16) and which is next (16).
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::int32_t> done_{0};   // parts of the round
  std::atomic<std::int32_t> begun_{0};  // rounds, and the end: what threads sleep on
  std::atomic<bool> is_over_{false};
  std::atomic<bool> has_failed_{false};  // whose failure_ it is
  std::exception_ptr failure_;
};

// A part of a kernel's work: items from begin to end - 1.
struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t member = 0;  // whose scratch it may use
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

// Work that can be divided between any two items, or every `unit` of them.
struct Items {
  std::int64_t count = 0;
  double nanoseconds_each = 0;  // of one core, roughly: no bit depends on it
  std::int64_t unit = 1;
};

// What a kernel is handed: those among whom it may divide its work. None: the calling thread alone.
class Threads {
 public:
  Threads() = default;
  Threads(ThreadTeam& team) : team_(&team) {}  // NOLINT: implicit, as a reference would be

  [[nodiscard]] std::int64_t count() const {
    return team_ == nullptr ? 1 : team_->setting().threads;
  }

  // How many parts of work are worth it, `each` of them for a thread at most.
  [[nodiscard]] std::int64_t parts_of(double nanoseconds, std::int64_t each = 1) const {
    if (count() == 1) return 1;
    const auto most = static_cast<double>(each * count());
    const double least = team_->setting().least_nanoseconds;
    if (nanoseconds >= most * least) return each * count();
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(nanoseconds / least));
  }

  // Calls work(part, member) for each part.
  template <class Work>
  void run(std::int64_t parts, Work&& work) const {
    if (parts == 1 || team_ == nullptr) {
      for (std::int64_t part = 0; part < parts; ++part) work(part, std::int64_t{0});
    } else {
      team_->run(parts, work);
    }
  }

  // Calls visit(part) for parts that make up all items. A thread may get several of them.
  template <class Visit>
  void split(const Items& items, Visit&& visit) const {
    const std::int64_t units = (items.count + items.unit - 1) / items.unit;
    const std::int64_t parts = std::min(
        units, parts_of(static_cast<double>(items.count) * items.nanoseconds_each, parts_each));
    if (parts <= 1) return visit(Part{0, items.count, 0});
    const auto begin_of = [&](std::int64_t part) {
      return std::min(items.count, units * part / parts * items.unit);
    };
    run(parts, [&](std::int64_t part, std::int64_t member) {
      visit(Part{begin_of(part), begin_of(part + 1), member});
    });
  }

 private:
  // More than one, so that a thread which is held up holds up less.
  static constexpr std::int64_t parts_each = 4;
  ThreadTeam* team_ = nullptr;
};

}  // namespace trainyard::runtime
