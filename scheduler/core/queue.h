// Who is next: jobs that wait for room, by priority and then by age. Jobs that need the same are in
// one line, since what does not fit the first does not fit the others; a line that no known set of
// agents could ever hold is parked, so that it blocks nobody.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

// A job's place: higher priority first, then the older.
struct QueueKey {
  std::int64_t priority = 0;
  std::uint64_t sequence = 0;
  bool operator==(const QueueKey&) const = default;
  std::strong_ordering operator<=>(const QueueKey& other) const {
    if (priority != other.priority) return other.priority <=> priority;
    return sequence <=> other.sequence;
  }
};
QueueKey queue_key(const Job& job);

// All that placement looks at in a spec, in an order of its own.
struct Shape {
  std::vector<std::int64_t> numbers;
  std::map<std::string, std::string> labels;
  std::vector<std::string> env;             // names that not every agent allows
  std::vector<std::string> gpu_names = {};  // which role asks for it, and the name
  auto operator<=>(const Shape&) const = default;
};
Shape shape_of(const JobSpec& spec);

class Queue {
 public:
  // Where a job came to stand: first in its line, behind another that must go first, or in a line
  // that is parked.
  enum class Standing { head, behind, parked };

  Standing insert(const Job& job);
  void erase(const Job& job);  // nothing when it is not there
  [[nodiscard]] bool contains(const Job& job) const;
  [[nodiscard]] std::size_t size() const { return size_; }

  // The first of the open lines' first jobs that comes after `after`, or the very first.
  [[nodiscard]] std::optional<std::pair<QueueKey, JobId>> next_head(
      const std::optional<QueueKey>& after) const;

  void park(const Job& job);                                 // its whole line
  [[nodiscard]] std::vector<JobId> heads_of_parked() const;  // one job of each parked line
  void open(const Job& job);                                 // its whole line

  // How many jobs are before this one, parked ones included.
  [[nodiscard]] std::int64_t count_before(const Job& job) const;

 private:
  struct Line {
    std::map<QueueKey, JobId> jobs;
    enum class Access { open, parked } access = Access::open;
  };
  using Access = Line::Access;
  std::map<Shape, Line> lines_;
  std::map<QueueKey, JobId> heads_;  // the first of each open line
  std::size_t size_ = 0;
};

}  // namespace trainyard::scheduler
