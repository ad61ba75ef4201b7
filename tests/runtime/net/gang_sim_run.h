// A run of a simulated gang (gang_sim.h): what its gang is made of, and what may happen next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/runtime/net/gang_sim.h"
#include "tests/runtime/net/gang_sim_parts.h"
#include "tests/runtime/net/sim_ps.h"

namespace trainyard::runtime::test {

class Sim {
 public:
  Sim(const SimSpec& spec, std::uint64_t seed) : spec_(spec), random_(seed) { start_gang(); }
  SimEnd run();

 private:
  [[nodiscard]] bool sync() const { return spec_.mode == Mode::sync; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(int of_thousand) { return static_cast<int>(random_() % 1000) < of_thousand; }

  void start_gang();
  void start_ps(std::size_t index);
  void start_process(std::int64_t rank);
  void ask(const std::shared_ptr<Process>& of);
  void call_as_heir(const std::shared_ptr<Process>& heir);
  void deliver_call(std::size_t index);
  Call take_call(std::size_t index);
  void end(const std::shared_ptr<Process>& of);

  std::vector<std::function<void()>> possible_events();
  void send(Process& process);
  [[nodiscard]] std::int64_t seen_by(const Process& process) const;
  [[nodiscard]] bool is_gone(std::int64_t rank) const;
  [[nodiscard]] bool may_give_up(std::int64_t rank) const;
  bool admit(const Process& process, std::size_t index, int stream);
  void bring_on(const std::shared_ptr<Process>& process, std::size_t index);
  void deliver(const std::shared_ptr<Process>& process, std::size_t index);
  void deliver_late(std::size_t index);
  bool take(const std::shared_ptr<Process>& process, std::size_t index, int stream, Frame frame);

  void end_stream(const Process& process, std::size_t index, int stream);
  void end_late(std::size_t index);
  void cut_by_chance();

  void answer(const std::shared_ptr<Process>& of, std::size_t index);
  void commit();
  void check(const SimPs& ps, const Snapshot& of);

  void kill_ps();
  void kill_by_chance();
  [[nodiscard]] bool is_over() const;
  SimEnd finished();

  SimSpec spec_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<SimPs>> ps_;
  std::vector<std::shared_ptr<Process>> processes_;  // dead ones, too
  std::vector<Call> calls_;                          // of heirs, on their way
  std::vector<CutStream> cut_;                       // and not read to their ends
  std::vector<std::int64_t> missing_;                // ranks whose tasks get another process
  std::vector<bool> gone_;                           // by rank: it never comes back
  bool gave_up_ = false;                             // a ps, whom it waited for
  std::optional<Checkpoint> checkpoint_;
  std::int64_t under_way_ = 0;  // the checkpoint that is; 0 = none
  SimEnd end_;
};

}  // namespace trainyard::runtime::test
