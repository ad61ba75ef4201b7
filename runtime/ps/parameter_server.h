// What a parameter server does with what workers send it: when it updates a chunk of its share,
// from whose gradients, and which chunks it owes to whom. It holds no float and no socket: whoever
// calls it keeps the gradients, adds, updates and sends as it says.
//
// Every chunk goes its own way, and has a version of its own: the number of its updates. (Y. Peng
// et al., A Generic Communication Scheduler for Distributed DNN Training Acceleration, SOSP 2019,
// cut tensors for the same reason.) A rank numbers its steps from 1:
//
//   sync   the step of all ranks. Version s is made of the gradients of step s of all of them.
//   async  its own count. Each gradient makes a version, in the order of arrival at this chunk.
//
// Sync with backup workers: version s is made of the gradients of the ranks that ps 0 has named for
// step s (StepNames). Those of other ranks are dropped. A worker may be late by any number of
// steps: where the version that it asks for is gone, it is sent the newest.
//
// Sync where gradients are clipped by their norm: no chunk is updated before the sum of all of them
// is there, and, with several servers, before the chief has said what they measure together.
//
// A gradient asks for the parameters that it, and in sync those of all others, have made. So a
// worker that is not sure what has arrived sends again: what was taken is dropped, and answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ps/chunk_snapshot.h"
#include "runtime/ps/owed_chunks.h"
#include "runtime/ps/ps_events.h"
#include "runtime/ps/step_names.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class ParameterServer {
 public:
  struct Rules {
    Mode mode = Mode::sync;
    std::int64_t ranks = 1;
    std::int64_t chunks = 1;  // of this server's share
    // What gradients lose on the way is kept by their ranks, and by snapshots.
    bool has_residuals = false;
    // Sync with backup workers: so many named ranks make a step. 0: all do, and nobody is named.
    std::int64_t aggregate = 0;
    // Sync: whether updates wait for the norm of the whole gradient, all of which is here or not.
    enum class Clipping { none, alone, together } clipping = Clipping::none;
    [[nodiscard]] bool has_backups() const { return aggregate > 0; }
  };
  struct Start {
    std::int64_t version = 0;
    std::vector<std::int64_t> rank_steps;  // async: newest step taken of each rank; empty = 0
  };
  ParameterServer(const Rules& rules, const Start& start);

  // What is to be done, in this order. Nothing of an event that makes no sense lives on: the worker
  // is refused.
  std::vector<PsEffect> step(const PsEvent& event);

  // A chunk that this worker may be sent now.
  struct ChunkToSend {
    std::int64_t chunk = 0;
    std::int64_t version = 0;  // sync: the newest, or the one before; async: the newest
    // Not 0: for which the rank is asked for its residual, as it is once these have come and before
    // it sends its next gradient of the chunk.
    std::int64_t snapshot = 0;
    bool operator==(const ChunkToSend&) const = default;
  };
  // What the worker's next forward pass reads first; it counts as sent. Nothing: it is owed nothing
  // that is there.
  std::optional<ChunkToSend> next_to_send(std::int64_t rank);

  [[nodiscard]] std::int64_t version_of(std::int64_t chunk) const;
  // The newest step of the rank whose gradient the chunk has taken.
  [[nodiscard]] std::int64_t taken(std::int64_t rank, std::int64_t chunk) const {
    return chunks_.at(static_cast<std::size_t>(chunk)).taken.at(static_cast<std::size_t>(rank));
  }
  // Of the chunk that is furthest behind.
  [[nodiscard]] std::int64_t version() const;
  // By rank: the newest step whose gradient every chunk has taken.
  [[nodiscard]] std::vector<std::int64_t> rank_steps() const;
  // Whether such a gradient of a worker that is there would be kept, not dropped or refused.
  [[nodiscard]] bool would_take(std::int64_t rank, std::int64_t step, std::int64_t chunk) const;
  // The same of a residual.
  [[nodiscard]] bool would_take(const ResidualCame& residual) const;
  // Whether the norm of the gradient that makes this version is waited for.
  [[nodiscard]] bool awaits_norm(std::int64_t version) const;

 private:
  struct Chunk {
    std::int64_t version = 0;
    std::vector<std::int64_t> taken;          // by rank: the newest step whose gradient has come
    std::int64_t came = 0;                    // sync: gradients of the next version
    std::vector<std::int64_t> measured = {};  // whose sum waits for the norm
    std::int64_t marked = 0;                  // the newest snapshot that has begun here
    ChunkSnapshot snapshot;
    [[nodiscard]] ChunkSnapshot::Copy copy() const {
      return {.snapshot = marked, .version = version, .rank_steps = taken};
    }
  };
  struct Worker {
    bool is_there = false;
    bool has_ended = false;
    std::vector<std::int64_t> sent;  // by chunk: the version that it has had last
  };
  using Effects = std::vector<PsEffect>;

  void take(const WorkerJoined& event, Effects& effects);
  void take(const WorkerLeft& event, Effects& effects);
  void take(const GradientCame& event, Effects& effects);
  void take(const ResidualCame& event, Effects& effects);
  void take(const RankEnded& event, Effects& effects);
  void take(const ParametersAsked& event, Effects& effects);
  void take(const StepNamed& event, Effects& effects);
  void take(const NormKnown& event, Effects& effects);

  [[nodiscard]] std::optional<std::string> fault_of(const GradientCame& event) const;
  [[nodiscard]] std::optional<std::string> fault_of(const ParametersAsked& event) const;
  [[nodiscard]] std::optional<std::string> fault_of(const StepNamed& event) const;
  [[nodiscard]] std::int64_t next_step(const Chunk& chunk, std::int64_t rank) const;
  void measure(std::int64_t index, std::vector<std::int64_t> ranks, Effects& effects);
  void update_measured(Effects& effects);
  void update_if_named_are_in(std::int64_t index, Effects& effects);
  void update(std::int64_t index, std::vector<std::int64_t> ranks, Effects& effects);
  void mark(std::int64_t index, std::int64_t snapshot, Effects& effects);
  void leave_snapshot(std::int64_t index, std::int64_t rank, Effects& effects);
  void save_if_whole(std::int64_t index, Effects& effects) const;

  Rules rules_;
  std::int64_t start_;  // the version that training begins with: before it there is none
  std::vector<Chunk> chunks_;
  std::vector<Worker> workers_;
  OwedChunks owed_;
  NamedStep named_;  // with backup workers: the newest
  // The chunks whose sums wait for the norm, and the newest version that was measured wholly.
  std::int64_t chunks_measured_ = 0;
  std::int64_t measured_version_ = 0;
};

}  // namespace trainyard::runtime
