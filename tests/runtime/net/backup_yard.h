// Workers and the brains of several ps without a network: every message is a random choice of when,
// processes die and come back. What one ps and another did is compared step by step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime::test {

struct YardSpec {
  std::int64_t workers = 3;
  std::int64_t aggregate = 2;
  std::int64_t ps = 2;
  std::int64_t max_steps = 12;
  std::int64_t deaths = 0;  // at most so many
  std::uint64_t seed = 0;
  // What workers leave undone, so that it is seen what it is there for.
  enum class Without { nothing, waiting_until_held, telling_the_others } without = Without::nothing;
};

class BackupYard {
 public:
  explicit BackupYard(YardSpec spec);

  // Until every worker that is there knows that training is over. False where nothing can happen
  // any more before that: somebody waits for ever.
  bool run();

  // What is wrong, in words; empty where all is well.
  std::string fault;

  [[nodiscard]] std::int64_t applied() const;
  [[nodiscard]] std::int64_t dropped() const;  // as ps 0 counts
  [[nodiscard]] std::int64_t pushed() const { return pushed_; }
  [[nodiscard]] std::int64_t commits() const { return std::ssize(made_); }
  // Of worker 0, which never dies: what it was told of, in all.
  [[nodiscard]] const BatchSums& told() const { return told_; }
  // What workers know of the steps that they have contributed to.
  [[nodiscard]] std::int64_t contributed() const { return contributed_; }
  [[nodiscard]] std::vector<std::vector<std::int64_t>> snapshots() const;  // versions, by ps
  [[nodiscard]] std::int64_t snapshots_asked() const { return snapshots_asked_; }
  // Of the newest push that asked for one and was late: the version of ps 0 then. Nothing: none
  // was.
  [[nodiscard]] std::optional<std::int64_t> asked_late() const { return asked_late_; }
  // What the steps that were made must have led to.
  [[nodiscard]] float expected_weight() const;
  [[nodiscard]] float weight(std::size_t ps) const;

 private:
  struct Request {
    std::optional<Push> push;  // else a pull, or that the rank is ready
    bool ready = false;
    std::int64_t step = 0;
    MadeStep made;
    int process = 0;  // of the worker that sent it
  };
  struct Link {
    std::optional<Request> up;
    std::optional<Answer> down;
    bool closing = false;  // its worker is gone, and the ps has not noticed
    int process = -1;      // of the worker that called last; -1: nobody is there
  };
  enum class Phase { starting, waits_for_lead, waits_for_others, computes, waits_for_holds, done };
  struct Worker {
    std::int64_t rank = 0;
    Phase phase = Phase::starting;
    bool alive = true;
    int process = 0;  // counts deaths
    int pace = 1;     // of its turns, in a hundred
    std::int64_t version = 0;
    std::int64_t pushed_step = 0;  // 0: it has pushed nothing, or knows how that ended
    MadeStep made;
    std::shared_ptr<AlignedBuffer> arena;
    std::vector<std::int64_t> versions;  // newest answers, by ps
    std::vector<Link> links;
  };

  bool act();
  void deliver_up(Worker& worker, std::size_t ps);
  void deliver_down(Worker& worker, std::size_t ps);
  void take_from_lead(Worker& worker, const Answer& answer);
  void answer_from_lead(Worker& worker, const Answer& answer);
  void others_have_answered(Worker& worker);
  void push(Worker& worker);
  void ask_lead(Worker& worker, bool ready, std::int64_t step);
  void tell_others(Worker& worker);
  void die(Worker& worker);
  void notice(Worker& worker, std::size_t ps);
  void compare(std::size_t ps);
  void check_size(const MadeStep& made);
  [[nodiscard]] bool hurries() const {
    return spec_.without == YardSpec::Without::waiting_until_held;
  }
  [[nodiscard]] bool is_early(const Worker& worker, std::size_t ps) const;
  std::size_t chance(std::size_t below) { return random_() % below; }

  YardSpec spec_;
  std::mt19937_64 random_;
  std::vector<std::vector<Snapshot>> snapshots_;
  std::deque<Aggregator> ps_;
  std::deque<Worker> workers_;
  std::vector<bool> known_gone_;           // by rank: to ps 0
  std::map<std::int64_t, MadeStep> made_;  // as ps 0 made them
  std::int64_t pushed_ = 0;
  std::int64_t contributed_ = 0;
  std::int64_t snapshots_asked_ = 0;
  std::optional<std::int64_t> asked_late_;
  std::int64_t deaths_ = 0;
  BatchSums told_;
};

}  // namespace trainyard::runtime::test
