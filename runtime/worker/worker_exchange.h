// What a worker's exchange is told and what it has its caller do, whatever the rule of steps is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace trainyard::runtime {

// All chunks of this ps' share. Sync: of just this version. Async: of it, or newer.
struct AskParameters {
  std::int64_t ps = 0;
  std::int64_t version = 0;
  std::optional<std::int64_t> chunk = {};  // with backup workers: this one alone, as in the arena
  bool operator==(const AskParameters&) const = default;
};
// Async, to ps 0. Where staleness is bounded every ps has this rank's gradients of all steps
// before.
struct AskTurn {
  std::int64_t step = 0;
  bool operator==(const AskTurn&) const = default;
};
// The forward pass of this step may begin; it waits for chunks by readable().
struct BeginStep {
  std::int64_t step = 0;
  bool operator==(const BeginStep&) const = default;
};
// Async, to this ps: this rank pushes no more.
struct SayEnded {
  std::int64_t ps = 0;
  std::int64_t snapshot = 0;  // not 0: which it was to mark
  bool operator==(const SayEnded&) const = default;
};
// With backup workers: this ps is to know which ranks make the newest step.
struct HandNames {
  std::int64_t ps = 0;
  bool operator==(const HandNames&) const = default;
};
// All parameters are those of the end. Nothing will be sent or asked for any more.
struct TrainingOver {
  std::int64_t step = 0;  // the last that was made; sync: of the job, async: of this rank
  bool operator==(const TrainingOver&) const = default;
};
// The gang does not go together: its ps began with other checkpoints. It has to begin anew.
struct GiveUp {
  std::string why;
  bool operator==(const GiveUp&) const = default;
};
using ExchangeEffect =
    std::variant<AskParameters, AskTurn, BeginStep, SayEnded, HandNames, TrainingOver, GiveUp>;

// The first that comes by a connection, new or made again.
struct Welcomed {
  std::int64_t ps = 0;
  std::int64_t version = 0;    // as in WelcomeWorker
  std::int64_t rank_step = 0;  // as in WelcomeWorker
  std::int64_t snapshot = 0;   // as in WelcomeWorker
};
// For people: "ps 1 has version 7".
std::string version_of_ps(const Welcomed& welcome);
struct ConnectionLost {
  std::int64_t ps = 0;
};
// Of the step that began last: the gradient of this chunk will not change any more.
struct GradientFinal {
  std::int64_t chunk = 0;
};
struct ParametersCame {
  std::int64_t chunk = 0;
  std::int64_t version = 0;
};
// Async: this rank may push its step; or has no more to push.
struct TurnCame {
  std::int64_t step = 0;
  std::int64_t snapshot = 0;  // not 0: all chunks of it mark this snapshot
  enum class Says { push, over } says = Says::push;
};
using ExchangeEvent =
    std::variant<Welcomed, ConnectionLost, GradientFinal, ParametersCame, TurnCame>;

// The rule of steps, whichever it is.
class WorkerExchange {
 public:
  virtual ~WorkerExchange() = default;

  // What is to be done, in this order.
  virtual std::vector<ExchangeEffect> step(const ExchangeEvent& event) = 0;
  // Whether these parameters may be written to their place. Others come of no ps that is right.
  [[nodiscard]] virtual bool wants(const ParametersCame& parameters) const = 0;

  // A gradient that is to be sent to this ps.
  struct ChunkToSend {
    std::int64_t chunk = 0;
    std::int64_t step = 0;
    std::int64_t snapshot = 0;  // as in GradientCame
    bool operator==(const ChunkToSend&) const = default;
  };
  // What the next forward pass reads first, of what is final and not sent; it counts as sent.
  virtual std::optional<ChunkToSend> next_to_send(std::int64_t ps) = 0;

  // The chunks before this one may be read for the step that began last.
  [[nodiscard]] virtual std::int64_t readable() = 0;
};

}  // namespace trainyard::runtime
