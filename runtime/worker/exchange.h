// What a worker exchanges with its parameter servers: which step it may compute, which chunks of
// its gradient go out next, which of the parameters are there to be read, and how it goes on when a
// connection is cut or its process is another one. It holds no float and no socket.
//
//   joins ──welcomed by all──► reads ──all parameters──► steps ──the last step──► over
//                                                          └──async──► ends ──────► over
//
// A new connection asks again for all that the lost one left unanswered: ps take nothing twice. A
// process that takes another's place reads the oldest version that any ps has, which all others
// still keep, and makes that step's gradient again.
//
// In a step the gradient becomes final chunk by chunk, from the arena's end to its beginning. Each
// chunk is sent at once, and answered with new parameters, which come beside the old ones in sync,
// and in async where those were read last. The next forward pass begins when the gradient is final,
// and waits for each chunk where it reads it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/worker/worker_chunks.h"
#include "runtime/worker/worker_exchange.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// The rules of sync, all ranks in each step, and of async.
class Exchange final : public WorkerExchange {
 public:
  struct Rules {
    Mode mode = Mode::sync;
    std::int64_t servers = 1;
    std::vector<std::int64_t> ps_of;  // by chunk, in the order of the arena
    std::int64_t max_steps = 1;       // the version at which training is over
    bool asks_ahead = false;          // async: for the next turn as soon as it has one
  };
  explicit Exchange(Rules rules);

  std::vector<ExchangeEffect> step(const ExchangeEvent& event) override;

  // Sync, for the chief: the next step of which nothing is sent yet makes a snapshot: this one.
  std::int64_t ask_snapshot();

  // Of the step that began last: the snapshot that its gradient marks, as in GradientCame.
  [[nodiscard]] std::int64_t marked() const { return marked_by(step_); }

  [[nodiscard]] bool wants(const ParametersCame& parameters) const override;
  std::optional<ChunkToSend> next_to_send(std::int64_t ps) override;
  [[nodiscard]] std::int64_t readable() override { return chunks_.readable(); }
  // The arena is of one version (sync), and stays so until the next GradientFinal.
  [[nodiscard]] bool is_whole() const { return chunks_.is_whole(); }

 private:
  enum class Phase { joins, reads, steps, ends, over };
  using ChunkState = WorkerChunks::State;
  using Effects = std::vector<ExchangeEffect>;

  void take(const Welcomed& event, Effects& effects);
  void take(const ConnectionLost& event, Effects& effects);
  void take(const GradientFinal& event, Effects& effects);
  void take(const ParametersCame& event, Effects& effects);
  void take(const TurnCame& event, Effects& effects);

  [[nodiscard]] std::int64_t marked_by(std::int64_t step) const;
  [[nodiscard]] std::int64_t step_of_sends() const;
  [[nodiscard]] bool is_there(std::int64_t ps) const;
  void choose_first_step(Effects& effects);
  void welcome_again(const Welcomed& event, Effects& effects);
  void ask(std::int64_t ps, std::int64_t version, Effects& effects);
  void ask_turn(Effects& effects);
  void say_ended(std::int64_t ps, Effects& effects);
  void go_on(Effects& effects);
  void begin_step(Effects& effects);
  void end(Effects& effects);

  Rules rules_;
  Phase phase_ = Phase::joins;
  std::vector<std::optional<Welcomed>> welcomes_;  // by ps: of a connection that is there
  WorkerChunks chunks_;
  std::int64_t step_ = 0;    // began last; before the first one of all: the one before it
  std::int64_t finals_ = 0;  // of its chunks
  std::array<std::int64_t, 2> snapshots_{};  // by step, modulo 2: which it marks
  std::int64_t asked_turn_ = 0;              // async: the newest
  std::optional<TurnCame> turn_;             // async: for the step after step_
};

}  // namespace trainyard::runtime
