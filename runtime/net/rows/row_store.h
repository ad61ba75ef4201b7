// A ps' share of a model's embedding tables: when gradients of its rows are taken and applied,
// which version of the rows a reader gets, and what of them a checkpoint holds. It knows no network
// and no thread: whoever calls it brings what callers ask.
//
// Tables are in no arena and no chunk, but their rows follow the same rules (runtime/ps). A rank
// numbers its steps from 1:
//
//   sync   the step of all ranks. Version s is made of the gradients of step s of all of them, in
//          the order of the reduction tree; or, with backup workers, of those that are named.
//   async  its own count. Gradients are applied as they come, and each makes a version.
//
// Sync: the rows of the version before the newest can be read, too. A process that takes the place
// of one that has pushed its rows of a step, but not all else, computes that step again from them;
// what it pushes then is here already, and is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/reduction_tree.h"
#include "runtime/math/rows/row_tables.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class RowStore {
 public:
  struct Step {
    double learning_rate = 0;
    float gradient_scale = 1;
  };
  // Sync: of whose gradients a step is made.
  enum class MadeOf { all_ranks, named_ranks };
  struct Rules {
    Mode mode = Mode::sync;
    MadeOf made_of = MadeOf::all_ranks;
    // By rank, the nodes of the reduction tree whose sums it pushes of each step, a part for each.
    // Sync of all ranks: together they are the whole tree of `leaves`. Async: each rank's own are.
    // Of named ranks: one each, which are the leaves of a tree over those that are named.
    std::vector<std::vector<Leaves>> nodes;
    std::int64_t leaves = 1;
    std::function<Step(std::int64_t version)> step_at = {};  // how this version is made
    std::int64_t floats_max = std::int64_t{1} << 26;         // of one answer
  };
  struct Start {
    std::int64_t version = 0;
    std::vector<std::int64_t> rank_steps = {};  // async: newest step taken of each rank; empty = 0
  };
  RowStore(Rules rules, Start start, RowTables tables);

  struct Push {
    std::int64_t rank = 0;
    std::int64_t step = 0;
    // Not 0: the name of a snapshot. Sync: of the version that this step makes, so it is the step;
    // of named ranks it is not looked at. Async: these are the rank's last gradients in it.
    std::int64_t snapshot = 0;
    std::vector<RowGradients> parts = {};
  };
  // Whether the gradients of this step are still to come of the rank: false where they have, or are
  // too late. `conflict` for a step that cannot be, `invalid` for such a rank.
  [[nodiscard]] Result<bool> awaits(std::int64_t rank, std::int64_t step) const;
  // What has come before changes nothing, but for its snapshot.
  Status push(Push push);

  // Sync, of named ranks: makes this step of the gradients of these ranks, which are here. It is
  // called before anybody is given the rest of the step's parameters. A step that is made already
  // changes nothing.
  struct Made {
    std::int64_t step = 0;
    std::vector<std::int64_t> ranks = {};  // ascending
    std::int64_t snapshot = 0;             // the step's, where it makes one
  };
  Status apply(const Made& made);

  // Async: the rank pushes no more, so every snapshot has all that it has pushed.
  void end(std::int64_t rank, std::int64_t snapshot);  // not 0: it was to mark this one

  struct Read {
    std::int64_t rank = 0;
    // Sync: of just this version, or, of named ranks, of the newest where this is long gone: then
    // the rank's gradients come too late. None: the newest.
    std::optional<std::int64_t> version = {};
    std::vector<std::int64_t> ids = {};
  };
  using Reply = std::function<void(Result<std::vector<float>>)>;  // one after another
  // Answered now, or in a later call, when the version is made. A rank has one answer outstanding:
  // a newer request of it takes the place of an older one.
  void read(Read read, Reply reply);
  // Who waits, or would have to from now on, is told this.
  void close(const Error& why);

  // What has become whole since the last call.
  struct Snapshot {
    std::int64_t step = 0;
    RowTables tables;
  };
  std::vector<Snapshot> take_snapshots();
  // As it is now.
  [[nodiscard]] RowTables copy() { return tables_.fork(); }

  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] const RowWidths& widths() const { return tables_.widths(); }
  [[nodiscard]] std::int64_t ranks() const { return std::ssize(rules_.nodes); }
  [[nodiscard]] Mode mode() const { return rules_.mode; }

 private:
  struct Waiting {
    Read read;
    Reply reply;
  };
  // Async. K. M. Chandy and L. Lamport, Distributed Snapshots, ACM TOCS 3(1), 1985: what comes of a
  // rank that has yet to mark goes into the copy, too.
  struct Cut {
    std::int64_t step = 0;
    RowTables tables;
    std::vector<bool> open;  // by rank: it has yet to mark
  };

  [[nodiscard]] Status check(const Push& push) const;
  [[nodiscard]] Status check(const Made& made) const;
  [[nodiscard]] Status check(const Read& read) const;
  void apply_at_once(Push push);
  void mark(const Push& push);
  void make(const Made& made);
  void begin_cut(std::int64_t snapshot);
  void leave_cut(std::int64_t rank, std::int64_t snapshot);
  void save_if_made();
  void answer_waiting();
  [[nodiscard]] std::vector<float> rows_of(std::int64_t version,
                                           std::span<const std::int64_t> ids) const;

  Rules rules_;
  RowTables tables_;
  std::int64_t version_;
  std::vector<std::int64_t> taken_;        // by rank: the newest step whose gradients have come
  std::vector<std::optional<Push>> held_;  // sync, by rank: of the next version
  std::optional<RowGradients> before_;     // sync: what the newest version changed, as it was
  std::int64_t snapshot_ = 0;              // the newest that has begun, or, sync, is asked for
  std::optional<Cut> cut_;                 // async
  std::vector<bool> ended_;                // async, by rank
  std::vector<std::optional<Waiting>> waiting_;  // by rank
  std::optional<Error> closed_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace trainyard::runtime
