// A ps of the simulated gang (gang_sim.h): its aggregator, and in async its lives. When it is
// killed it goes on from a shard that it had made durable, and from what its workers tell.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/net/aggregator.h"
#include "tests/runtime/net/gang_sim_parts.h"

namespace trainyard::runtime::test {

class SimPs {
 public:
  // What it begins with.
  struct Shard {
    std::int64_t version = 0;
    std::vector<std::int64_t> rank_steps;
    std::vector<float> weights;
    std::int64_t lost = 0;  // updates that it lacks
  };

  SimPs(Aggregator::Rules rules, Shard first);
  SimPs(const SimPs&) = delete;
  SimPs& operator=(const SimPs&) = delete;

  // It dies, and goes on from one of its shards.
  void live_again(std::mt19937_64& random);
  void tell(std::int64_t rank, const ToldClock& told);
  void see(std::int64_t rank, std::int64_t version);
  void give_up(std::int64_t rank);

  Aggregator& aggregator() { return *aggregator_; }
  // Of its present life, by name.
  std::map<std::int64_t, Snapshot> snapshots;
  // The last connection of a rank.
  struct Caller {
    std::int64_t process = 0;
    int stream = 0;
    auto operator<=>(const Caller&) const = default;
  };
  struct Seat {
    Caller caller;
    bool is_open = true;  // its end was not seen
  };
  std::vector<std::optional<Seat>> seats;  // by rank

  // What must not be, in words; empty: all is well. Async: every push is in the weights once, or
  // counted as lost.
  [[nodiscard]] std::string fault_in(const Snapshot& snapshot) const;
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] std::int64_t lost() const { return lost_; }  // in all its lives
  // Whether each of its lives went on from what every rank has told.
  [[nodiscard]] bool has_heard_all() const { return heard_all_; }
  // Ranks that it has not heard of in its present life: once they are gone it is told.
  [[nodiscard]] std::vector<std::int64_t> awaited() const;

 private:
  void begin(const Shard& shard, bool again);
  void note_losses();

  Aggregator::Rules rules_;
  Shard first_;
  Shard begun_with_;
  std::vector<Shard> durable_;
  std::vector<std::int64_t> lost_by_rank_;
  std::vector<bool> told_;      // by rank: in its present life
  std::vector<bool> given_up_;  // likewise
  std::vector<std::int64_t> acknowledged_;
  bool is_back_ = false;
  bool counted_ = true;  // what this life has lost
  bool heard_all_ = true;
  std::int64_t lost_ = 0;
  std::string fault_;
  std::unique_ptr<Aggregator> aggregator_;
};

}  // namespace trainyard::runtime::test
