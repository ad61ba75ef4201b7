// A runtime process in the simulation, and the gang it is one of: what it does with its life, step
// by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/agent.h"
#include "tests/sim/random.h"

namespace trainyard::sim {

// What will become of a process, drawn at its start.
enum class Fate { works, exits, is_killed, has_bad_data, hangs };

struct Process {
  WantedTask wanted;
  std::int64_t pid = 0;
  WallTime started_at;  // the task's first process
  Fate fate = Fate::works;
  Time fate_at;
  bool ignores_terminate = false;

  bool is_alive = true;
  bool is_over = false;               // and no other process goes on in its place
  std::int64_t returns = 0;           // processes of this task before it
  ExitStatus exit;                    // once it is not
  bool outlived_lease = false;        // its shim ended it
  bool serves = false;                // has said `running`
  bool has_met_all = false;           // peers
  std::optional<Time> missing_since;  // some of them
  std::int64_t step = 0;              // chief
  bool has_told = false;              // chief: how the parameters are divided
  bool must_save = false;             // the order lies in its folder
  bool has_saved = false;             // chief: as ordered, and it makes no step more

  std::vector<RunEvent> events;  // written; the agent reads them a little later
  std::size_t events_read = 0;
  std::vector<ArtifactFile> announced;
  std::vector<ArtifactFile> files;  // of those, not known to be at the server
  bool output_delivered = false;

  [[nodiscard]] const TaskKey& key() const { return wanted.task.key; }
  void write(WallTime time, decltype(RunEvent::what) what);
  [[nodiscard]] std::int64_t end() const { return static_cast<std::int64_t>(events.size()) * 100; }
};

// All living processes of one attempt, wherever they run. The simulation does not cut the roads
// between them.
struct Gang {
  std::vector<Process*> members;
  bool chief_is_done = false;
};

std::size_t size_of_gang(const JobSpec& spec);

Process make_process(const WantedTask& wanted, Random& random, const Now& now);
// Another process goes on where `died` has left its files.
Process make_successor(Process died, Random& random, const Now& now);

// One moment of its life; afterwards it may have ended. Returns true when the whole training is
// done.
enum class Work { goes_on, is_done };
Work live(Process& process, Gang& gang, Random& random, const Now& now);

}  // namespace trainyard::sim
