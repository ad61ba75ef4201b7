// What a worker exchanges with its parameter servers in sync training with backup workers. ps 0
// names the ranks whose gradients make a step; this worker may not be among them, and the others
// go on without it. It holds no float and no socket.
//
//   joins ──welcomed by all──► waits ──all parameters of one version──► computes ──┐
//                                ▲ └──of the last one──► over                      │
//                                └───────────the gradient is final─────────────────┘
//
// Who is not named gives its step up: what is not sent of it stays where it is. It asks for the
// newest version that it knows of. Servers keep a version and the one before, so by the time that
// it asks one of them, that may be gone: then a newer chunk comes, and the older ones are asked for
// again until all are of one version. That holds nobody up, as nobody waits for it.
//
// So a forward pass begins when all chunks are there, and none is written until its gradient is
// final: a chunk that followed might be gone before it came. No chunk is asked for before all that
// was asked of it has been answered, so no answer comes that is not waited for.
//
// A named worker that comes back makes the step again from the version before. That is still there
// everywhere, as no step is named after it before its gradients are in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/after_snapshot.h"
#include "runtime/core/named_step.h"
#include "runtime/worker/worker_chunks.h"
#include "runtime/worker/worker_exchange.h"

namespace trainyard::runtime {

class BackupExchange final : public WorkerExchange {
 public:
  struct Rules {
    std::int64_t rank = 0;
    std::int64_t servers = 1;
    std::vector<std::int64_t> ps_of;  // by chunk, in the order of the arena
    std::int64_t max_steps = 1;       // the version at which training is over
  };
  explicit BackupExchange(Rules rules);

  std::vector<ExchangeEffect> step(const ExchangeEvent& event) override;

  // Of ps 0: which ranks make a step.
  std::vector<ExchangeEffect> name(NamedStep named);
  // The newest, as HandNames hands them on.
  [[nodiscard]] const NamedStep& named() const { return named_; }

  // For the chief: a version that is not named yet is to be a snapshot, whether this rank is in it
  // or not. Which one, named().snapshot says. `stops`: no step is named after it.
  void want_snapshot(AfterSnapshot then);

  [[nodiscard]] bool wants(const ParametersCame& parameters) const override;
  std::optional<ChunkToSend> next_to_send(std::int64_t ps) override;

  // To ps 0: all that was to be sent of this step's gradient is on its way.
  struct Report {
    std::int64_t step = 0;
    std::int64_t snapshot = 0;  // as in StepNames::Report
    bool holds = false;         // likewise
    bool operator==(const Report&) const = default;
  };
  // It counts as sent. Asked for when next_to_send() has nothing for any ps.
  std::optional<Report> next_report();

  [[nodiscard]] std::int64_t readable() override;

 private:
  enum class Phase { joins, waits, computes, over };
  // While it waits, those that are there are of the version that is wanted.
  using ChunkState = WorkerChunks::State;
  using Effects = std::vector<ExchangeEffect>;

  void take(const Welcomed& given, Effects& effects);
  void take(const ConnectionLost& event, Effects& effects);
  void take(const GradientFinal& event, Effects& effects);
  void take(const ParametersCame& event, Effects& effects);
  void take(const TurnCame& event, Effects& effects);

  [[nodiscard]] bool is_there(std::int64_t ps) const;
  [[nodiscard]] std::int64_t wanted() const;
  [[nodiscard]] bool has_given_up() const;
  void choose_first_step();
  void welcome_again(const Welcomed& event, Effects& effects);
  void hand_names(std::int64_t ps, Effects& effects) const;
  void go_on(Effects& effects);
  void ask_where_old(std::int64_t chunk, Effects& effects);
  void begin_step(Effects& effects);

  Rules rules_;
  Phase phase_ = Phase::joins;
  std::vector<std::optional<Welcomed>> welcomes_;  // by ps: of a connection that is there
  WorkerChunks chunks_;
  std::vector<std::int64_t> versions_;  // by chunk: what came last
  std::int64_t step_ = 0;      // began last; before the first one of all: the version it waits for
  std::int64_t finals_ = 0;    // of its chunks
  std::int64_t reported_ = 0;  // the newest step
  NamedStep named_;            // the newest
  std::int64_t useful_ = 0;    // no older version is of use, by what has been named
  std::int64_t seen_ = 0;      // the newest version of a chunk that has come
  std::int64_t snapshot_ = 0;  // this one is wanted, or a later one
  bool holds_ = false;
};

}  // namespace trainyard::runtime
