// What happens at a parameter server, and what it has its caller do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/ps/step_names.h"

namespace trainyard::runtime {

// To the worker's newest connection: the first thing that it hears.
struct WelcomeWorker {
  std::int64_t rank = 0;
  std::int64_t version = 0;    // of the chunk that is furthest behind
  std::int64_t rank_step = 0;  // newest step of which every chunk has taken this rank's gradient
  std::int64_t snapshot = 0;   // the newest that has begun in any chunk; 0: none
  bool operator==(const WelcomeWorker&) const = default;
};
// The gradients that came of these ranks for the chunk are added, in the order of the reduction
// tree, and make `version`. The one before stays until the next.
struct UpdateChunk {
  std::int64_t chunk = 0;
  std::int64_t version = 0;
  std::vector<std::int64_t> ranks;  // ascending
  bool updates_copy = false;        // and the copy that CopyChunk made, with the same gradient
  // Async: versions that were made of the chunk since the one that the gradient was computed from.
  std::int64_t staleness = 0;
  bool operator==(const UpdateChunk&) const = default;
};
// Where gradients are clipped by their norm, ahead of UpdateChunk, which has the same ranks: their
// sum is all there. The first of a version begins it anew.
struct MeasureChunk {
  std::int64_t chunk = 0;
  std::int64_t version = 0;  // that the sum will make
  std::vector<std::int64_t> ranks;
  bool operator==(const MeasureChunk&) const = default;
};
// All chunks of the share are measured: the chief is told, perhaps again.
struct ShareMeasured {
  std::int64_t version = 0;
  bool operator==(const ShareMeasured&) const = default;
};
// Weights and slots as they are now are the chunk's copy for the snapshot: they are copied before
// the next update of the chunk.
struct CopyChunk {
  std::int64_t chunk = 0;
  std::int64_t snapshot = 0;
  bool operator==(const CopyChunk&) const = default;
};
// The copy is what the snapshot is to hold of the chunk, and all residuals of it have come.
struct SaveCopy {
  std::int64_t chunk = 0;
  std::int64_t snapshot = 0;
  std::int64_t version = 0;                   // of the copy: the updates in it
  std::vector<std::int64_t> rank_steps = {};  // by rank: its newest step in it
  bool operator==(const SaveCopy&) const = default;
};
// Its connection is to be closed: it is of another run, or confused.
struct RefuseWorker {
  std::int64_t rank = 0;
  std::string why;
  bool operator==(const RefuseWorker&) const = default;
};
using PsEffect = std::variant<WelcomeWorker, UpdateChunk, MeasureChunk, ShareMeasured, CopyChunk,
                              SaveCopy, RefuseWorker>;

// A worker has a connection, whose token and plan are right. An older one of its is closed.
struct WorkerJoined {
  std::int64_t rank = 0;
};
struct WorkerLeft {
  std::int64_t rank = 0;
};
struct GradientCame {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t chunk = 0;
  // Not 0: the name of a snapshot. Sync: of the version that this step makes, so it is the step;
  // the chief's alone counts.
  // Async: this is the rank's last gradient in it.
  std::int64_t snapshot = 0;
};
// Async: the rank pushes no more, so that every snapshot has all that it has pushed.
struct RankEnded {
  std::int64_t rank = 0;
  std::int64_t snapshot = 0;  // not 0: it was to mark this one with a gradient
};
// What the encoding of the rank's gradients has lost of this chunk, as the snapshot is to hold it:
// the answer to parameters that asked for it.
struct ResidualCame {
  std::int64_t rank = 0;
  std::int64_t chunk = 0;
  std::int64_t snapshot = 0;
};
// All chunks of the share are to be sent. Sync: of just this version. Async: the newest, each as
// soon as it is of this version or newer. With backup workers: of this version, or the newest where
// it is gone.
struct ParametersAsked {
  std::int64_t rank = 0;
  std::int64_t version = 0;
  std::optional<std::int64_t> chunk = {};  // this one alone
};
// With backup workers: a rank hands on what ps 0 has named; ps 0 tells itself for the rank whose
// report was the last that it needed.
struct StepNamed {
  std::int64_t rank = 0;
  NamedStep named;
};
// The chief says what all shares of the gradient that makes this version measure.
struct NormKnown {
  std::int64_t rank = 0;
  std::int64_t version = 0;
};
using PsEvent = std::variant<WorkerJoined, WorkerLeft, GradientCame, ResidualCame, RankEnded,
                             ParametersAsked, StepNamed, NormKnown>;

}  // namespace trainyard::runtime
