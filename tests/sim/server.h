// The server in the simulation: the real core, a database that outlives it, and a shell that keeps
// the order: save, then send. It crashes between any two of these, and comes back from its rows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "scheduler/core/cluster.h"
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
  [[nodiscard]] bool is_up() const { return cluster_ != nullptr; }

  // False: nobody is there, or it crashed over it.
  bool take(const scheduler::Event& event);
  // A whole file arrives. False: as above.
  bool take_file(const JobId& job, const std::string& sha256);

  // What the core knows must be what is saved: a core restored from the rows knows the same.
  void compare_with_rows();

 private:
  [[nodiscard]] Now now() const;
  void tick(int incarnation);
  void post_known_files(const Checkpoint& pending);
  void check_answer(const Assignment& assignment);

  World world_;
  const scheduler::Limits limits_;
  std::unique_ptr<scheduler::Cluster> cluster_;
  Crash crash_next_ = Crash::never;
  Millis clock_offset_;  // its steady clock's zero point means nothing, and changes with each start
  int incarnation_ = 0;
  // The newest report of each agent's start that this start of the server has answered.
  std::map<std::tuple<AgentId, std::string, std::int64_t>, std::int64_t> answered_;
};

}  // namespace trainyard::sim
