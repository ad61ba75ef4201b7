// The server in the simulation: the real core in the real Transactions, which keep the order "save,
// then send", on a database that outlives them. Events come alone or several to a transaction. The
// server crashes before or after a save, and comes back from its rows; a save that is refused costs
// it the core, which comes back at a later tick.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/transactions.h"
#include "tests/sim/clock.h"
#include "tests/sim/database.h"
#include "tests/sim/journal.h"
#include "tests/sim/random.h"

namespace trainyard::sim {

class Server {
 public:
  struct World {
    Clock& clock;
    Random& random;
    Journal& journal;
    Database& database;
    std::function<void(const Assignment&)> send;
    std::function<void(const Job&)> on_job_saved;
  };
  Server(World world, const scheduler::Limits& limits)
      : world_(std::move(world)), limits_(limits) {}

  void start();
  enum class Crash { never, at_once, before_next_save, after_next_save };
  void crash(Crash when);
  [[nodiscard]] bool is_up() const { return transactions_ != nullptr; }

  // `done` is called with the outcome once all is saved, or with the reason why it is not; never
  // where nobody is there, or the server crashes first.
  using Done = std::function<void(const scheduler::Outcome&)>;
  void take(const scheduler::Event& event, Done done = {});
  // A whole file arrives. False: nobody is there, or it crashed over it.
  bool take_file(const JobId& job, const std::string& sha256);

  // What the core knows must be what is saved: a core restored from the rows knows the same.
  void compare_with_rows();

  // With no job left, no agent has anything of one.
  void check_at_rest();

 private:
  using Changes = scheduler::Transactions::Changes;
  [[nodiscard]] Now now() const;
  [[nodiscard]] const scheduler::Cluster* core() const;
  void tick(int incarnation);
  bool restore();
  void step(const scheduler::Event& event, Done done);
  void commit();

  scheduler::Transactions::Surroundings surroundings();
  Status save(Changes changes);
  void send(const Assignment& assignment);
  void check_saved(const std::string& what);
  void check_answer(const Assignment& assignment);
  void check_rows(const std::vector<Job>& jobs);

  World world_;
  const scheduler::Limits limits_;
  std::unique_ptr<scheduler::Transactions> transactions_;
  Crash crash_next_ = Crash::never;
  bool is_dying_ = false;     // it crashed in a save: whatever it still says, nobody hears
  bool save_failed_ = false;  // in the commit that goes on
  Millis clock_offset_;  // its steady clock's zero point means nothing, and changes with each start
  int incarnation_ = 0;
  // The newest report of each agent's start that this core has answered.
  std::map<std::tuple<AgentId, std::string, std::int64_t>, std::int64_t> answered_;
};

}  // namespace trainyard::sim
