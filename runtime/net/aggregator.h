// The brain of a ps: takes pushes and pulls, commits steps in rank order, answers those who wait.
// It knows no network: the gRPC server calls it, and so does the in-process channel of a job
// without ps. One thread calls it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/backup_steps.h"
#include "runtime/core/batch_sums.h"
#include "runtime/core/heirs.h"
#include "runtime/core/staleness.h"
#include "runtime/core/told_clocks.h"
#include "runtime/core/turns.h"
#include "runtime/core/version_gate.h"
#include "runtime/net/cut.h"
#include "runtime/net/parameter_shard.h"
#include "runtime/net/row_shard.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Of one batch or of several together.
struct Push {
  std::int64_t rank = 0;
  std::int64_t step = 0;          // as VersionGate numbers them
  std::int64_t base_version = 0;  // of the parameters the gradient was computed from
  BatchSums sums;                 // sums.examples is the gradient's weight in the mean
  // Not 0: the name of a snapshot. Sync: of the version that this makes. Async: the push is the
  // rank's last one in it.
  std::int64_t snapshot_step = 0;
  bool holds = false;  // nobody is to push after the snapshot; in sync its caller sees to that
  // Sync, not 0: the snapshot_step that all pushes of the step after this one are to carry.
  std::int64_t announced_snapshot = 0;
  bool residuals = false;  // those of the rank's leaves lie behind the gradients, as float32
  // Of the sum of the batch's losses, over each of the rank's sent_nodes(), one after another.
  Payload gradient;
  // Where all of it lies, if that is a landing(). It is overwritten: from where release() says that
  // it is final on, and all of it by push(). Nobody else may read or write that.
  std::shared_ptr<WeightsBuffer> landing = {};
};

struct Pull {
  std::int64_t rank = 0;
  std::int64_t at_least = 0;  // the version that is waited for
  // Sync: of just this version, be it the newest or the one before. A worker that is back asks for
  // it where its last push has made a step on one ps and is missed on another. Where heirs have
  // gone on without it meanwhile it gets the newest, and looks again.
  bool exactly = false;
  // Async: or, where this ps gives them, a turn to push, as soon as there is one. Until it pushes
  // again nobody waits for the rank.
  bool for_turn = false;
};

struct Answer {
  // None: the ps holds the push, and so far that is all; or it asks for an inheritance first.
  Weights weights;
  std::int64_t version = 0;
  std::int64_t rank_step = 0;  // newest step taken of the rank
  BatchSums sums;              // all that was applied since the rank's last answer
  // Not 0: a snapshot of this name is to be made (sync) or being made (async), and waits for the
  // rank's next push to carry it.
  std::int64_t asked_snapshot = 0;
  double apply_seconds = 0;  // of this version: summing and updating once all pushes were there
  bool turn = false;         // async: the rank may make another push
  std::int64_t clock = 0;    // async: how far the rank is, as max_staleness counts
  std::int64_t lost_updates = 0;  // async: see Aggregator::lost_updates()
  MadeStep made = {};             // sync with backup workers: how this version was made
  Inheritance inheritance = {};   // sync: the next step needs these gradients of others, too
};

class Aggregator {
 public:
  struct Rules {
    VersionGate::Rules gate;
    // Sync: the leaves of a step's reduction tree; 0 = one for each rank.
    std::int64_t leaves = 0;
    // Async: how many steps a rank may be ahead of the slowest that is there; nothing = any number.
    std::optional<std::int64_t> max_staleness = {};
    StalenessScaling staleness_scaling = StalenessScaling::none;
    OptimizerSpec optimizer;  // for the learning rate at a step
    Wire wire = Wire::float32;
    Share share = {};             // of the arena: what the shard holds; none = all of an arena
    bool gives_turns = true;      // async: this is the one ps of the gang that does
    bool keeps_previous = false;  // sync: the version before the newest can be pulled, too
    bool names_heirs = false;     // sync: those who wait compute for ranks that are missed
    // Sync: fewer final elements are not worth an update ahead: 128 KiB of them.
    std::int64_t tail_elements_min = 1 << 15;
    // Sync: where a step does not wait for every rank. Each rank then has one leaf.
    std::optional<BackupSteps::Rules> backups = {};
  };
  struct Start {
    std::int64_t version = 0;
    std::vector<std::int64_t> rank_steps = {};  // as VersionGate takes them
    LeafResiduals residuals = {};               // of all leaves, or none
    // Async, of a ps that was started again alone: the rank_steps that its gang began with. It
    // serves once it knows from the workers where it is to go on (runtime/core/told_clocks.h).
    std::optional<std::vector<std::int64_t>> first_steps = {};
    // Updates that its version counts and its shard lacks.
    std::int64_t lost = 0;
  };
  using Reply = std::function<void(Result<Answer>)>;
  using SnapshotSink = std::function<void(Snapshot)>;
  // Of a step that is being made: the elements from `from` on are as they will be.
  struct Tail {
    Weights weights;  // what lies before `from` is still written
    std::int64_t from = 0;
  };
  using TailSink = std::function<void(const Tail&)>;

  // `rows`: this ps' share of the embedding table, where the model has one.
  Aggregator(Rules rules, ParameterShard shard, Start start, SnapshotSink sink,
             std::optional<RowTable> rows = {});

  // `reply` is called once, now or in a later call: sync answers when the step has committed. A
  // rank has one reply outstanding; a newer call of the same rank takes the place of an older one.
  // `invalid` for a rank or a size that cannot be, `conflict` for a step that is not next.
  void push(Push push, Reply reply);
  // `conflict` for exactly a version that is not there.
  void pull(const Pull& pull, Reply reply);

  // Memory for the gradient of a push that comes, where it is all that an update sums, so that the
  // new parameters can take its place: of async, or of a rank that is alone. Else none, nor while
  // many are in use: broken connections hold theirs for a while, and a shard frees no buffer.
  [[nodiscard]] std::shared_ptr<WeightsBuffer> landing();

  // Ahead of push(), of the same push: its gradient is still computed, or comes, in the memory that
  // it shows.
  // What cannot be taken is left to push(), which says why. Then, from which element of the share
  // on it is final. Sync sums and updates these elements as soon as all ranks have them, and tells
  // `sink` until the step is made: nobody may use it before.
  void begin(Push push, TailSink sink = {});
  void release(std::int64_t rank, std::int64_t from);

  // With heirs: a push of a rank by another, who has been asked for it while the rank was not
  // there. Where the rank itself or another heir was faster it changes nothing.
  Status inherit(Push push);
  [[nodiscard]] bool names_heirs() const { return heirs_.has_value(); }

  // With backup workers (see BackupSteps) and several ps a push is answered as soon as it is held.
  // For ps 0: so it is on every ps. Answers as soon as the step is made, of whomever.
  void ready(std::int64_t rank, std::int64_t step, Reply reply);
  // For the other ps: how a version was made, which may be their next. `conflict` where it cannot
  // be.
  Status tell(MadeStep made);
  [[nodiscard]] const std::optional<BackupSteps>& backups() const { return backups_; }
  // With backup workers, on ps 0: how many contributions came too late, by rank. Else empty.
  [[nodiscard]] std::vector<std::int64_t> dropped_by_rank() const;

  // Before the first push or pull of a rank by a connection: where the rank is with this ps. One
  // that was started again goes on from it; any gives back the turn by which the rank pushes. Sync:
  // nothing.
  void tell_clock(std::int64_t rank, const ToldClock& told);
  // Another ps has had this version, says a rank that tells by a frame of its own.
  void see(std::int64_t rank, std::int64_t version);
  // It was started again, and ranks have yet to tell: pushes and pulls wait.
  [[nodiscard]] bool awaits_clocks() const { return awaits_clocks_; }
  // Async: updates that its version counts and its shard lacks, lost with earlier processes.
  [[nodiscard]] std::int64_t lost_updates() const { return lost_updates_; }
  // Newest step taken of the rank, by this process or, as it was told, by an earlier one.
  [[nodiscard]] std::int64_t rank_step(std::int64_t rank) const;

  // The rows [ids, width] as the newest version has them.
  [[nodiscard]] Result<std::vector<float>> read_rows(std::span<const std::int64_t> ids) const;
  // Gradients of rows, one for each of the rank's parts, for the push of `step` that follows: with
  // a table a push is not taken without them. Those of a step that is made already change nothing.
  Status stage_rows(std::int64_t rank, std::int64_t step, std::vector<RowGradients> parts);
  [[nodiscard]] bool has_rows() const { return rows_.has_value(); }
  [[nodiscard]] std::int64_t row_width() const { return rows_ ? rows_->width() : 0; }

  // Takes a snapshot named `step` as soon as the version is that or newer, unless one is being
  // made.
  void snapshot_at(std::int64_t step);
  // False for a checkpoint that had begun before this ps was started again: it is no part of it.
  [[nodiscard]] bool takes_part_in(std::int64_t snapshot) const;

  // The rank's caller is gone before training was over: in sync no step can commit any more, so
  // everybody who waits or comes later is told `unavailable` with this reason. In async, and with
  // backup workers, the others go on.
  void lose(std::int64_t rank, const std::string& why);

  // The same where the rank may come back: in sync the step waits for it, or for its heir. A rank
  // that is back pulls first, as at its start.
  void miss(std::int64_t rank);

  // The rank's caller has ended in good order: it needs no more.
  void end_well(std::int64_t rank);

  // How many gradients a push of the rank holds; 0 for a rank that cannot be.
  [[nodiscard]] std::int64_t parts_of(std::int64_t rank) const;

  // `invalid` where a push of the rank cannot have so many bytes of tensors.
  [[nodiscard]] Status check_size(std::int64_t rank, WithResiduals residuals,
                                  std::int64_t bytes) const;

  // Of the largest tensors of a frame: a push, with its residuals, or an answer.
  [[nodiscard]] std::int64_t frame_bytes_max() const;

  // Of how many leaves the checkpoint that it started from has the residuals: all or none.
  [[nodiscard]] std::int64_t residual_leaves() const { return residual_leaves_; }
  // One of them, until the leaf's rank has pushed for the first time. `not_found` without one.
  [[nodiscard]] Result<std::shared_ptr<const LeafResidual>> residual_of(std::int64_t leaf) const;

  [[nodiscard]] std::int64_t version() const { return gate_.version(); }
  [[nodiscard]] bool finished() const { return gate_.finished(); }
  // Why no step can be made any more; nothing: they can.
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }
  // True when every rank was answered with the last version, or is not there: nobody waits. One
  // that comes back makes it false until it is told. With heirs, and somebody away: when all others
  // have ended.
  [[nodiscard]] bool all_told() const { return std::ranges::find(told_, false) == told_.end(); }
  [[nodiscard]] std::int64_t elements() const { return shard_.elements(); }
  [[nodiscard]] const Weights& weights() const { return shard_.weights(); }
  [[nodiscard]] Wire wire() const { return rules_.wire; }

 private:
  struct Waiting {
    Reply reply;  // empty: nobody waits
    std::int64_t at_least = 0;
    bool for_turn = false;
  };

  void welcome_back(std::size_t rank);
  void wait_for_clocks(std::int64_t rank, std::function<void()> call);
  void take_late(std::int64_t rank, const ToldClock& told);
  void go_on_if_told();
  void restore_clocks();
  void pull_exactly(const Pull& pull, const Reply& reply);
  void accept(Push push, Reply reply);
  void hold(Push push);
  void name_heirs();
  [[nodiscard]] bool would_take(std::int64_t rank, std::int64_t step) const;
  void push_among_backups(Push push, Reply reply);
  void commit_if_decided();
  void commit_as(MadeStep made);
  [[nodiscard]] std::int64_t clock_of(std::size_t rank) const;
  [[nodiscard]] bool may_go_on(std::size_t rank) const;
  bool can_answer(std::size_t rank, const Waiting& waiting);
  void end_if_all_wait();
  [[nodiscard]] const Push* push_of(std::size_t rank) const;
  [[nodiscard]] TreeSum sum_of_pushes(std::size_t begin) const;
  void choose_room();
  void update_tail();
  void drop_begun(std::size_t rank);
  [[nodiscard]] Leaves leaves_of_rank(std::int64_t rank) const;
  [[nodiscard]] LeafResiduals residuals_of(const Push& push) const;
  void commit();
  [[nodiscard]] ParameterShard::Update update_to(std::int64_t version, const BatchSums& sums) const;
  RowGradients apply_rows(const ParameterShard::Update& update);
  [[nodiscard]] static RowTable::Update row_update(const ParameterShard::Update& update);
  void note_in_cut(const RowGradients& rows);
  void finish_cut_if_complete();
  void take_snapshot(std::int64_t step);
  [[nodiscard]] std::int64_t asked_of(std::int64_t rank) const;
  Answer answer_to(std::size_t rank);
  bool take_turn(std::size_t rank);
  [[nodiscard]] bool is_held(std::size_t rank) const;
  void answer(std::int64_t rank, const Reply& reply);
  void answer_waiting();

  Rules rules_;
  VersionGate gate_;
  Turns turns_;
  ParameterShard shard_;
  Weights previous_;  // where it is kept, once a step has committed
  std::vector<std::weak_ptr<WeightsBuffer>> landings_;  // those in use, and some that were
  std::optional<RowShard> rows_;
  std::optional<BackupSteps> backups_;
  std::optional<Heirs> heirs_;
  SnapshotSink sink_;
  std::vector<std::int64_t> parts_;           // by rank: of its pushes
  std::vector<std::int64_t> order_;           // in which the parts of a step are added
  double apply_seconds_ = 0;                  // of the newest version
  std::vector<std::optional<Push>> pending_;  // by rank: accepted, not yet committed
  struct Begun {
    Push push;
    std::int64_t from = 0;  // of the share: final from here on
  };
  std::vector<std::optional<Begun>> begun_;  // by rank: those whose push is still to come
  std::vector<TailSink> tail_sinks_;         // by rank: who may have what is updated ahead
  std::vector<Waiting> waiting_;             // by rank
  std::vector<std::int64_t> first_steps_;    // by rank: its newest step when this ps started
  std::vector<bool> lost_;                   // by rank: not there
  std::vector<bool> idle_;                   // by rank: it has no turn to push
  std::vector<bool> gone_;                   // by rank: and not to come back
  std::vector<BatchSums> unseen_;            // by rank: applied since its last answer
  std::vector<bool> told_;                   // by rank: see all_told()
  LeafResiduals restored_;                   // of leaves whose ranks have not pushed yet
  std::int64_t residual_leaves_;
  LeafResiduals residuals_;         // sync: at this version, where its pushes carried them
  std::int64_t next_snapshot_ = 0;  // sync: the name that was announced
  std::optional<std::int64_t> snapshot_at_;
  std::optional<Cut> cut_;  // async: being made
  bool holds_ = false;      // no push is to follow the snapshot that is being made, or was
  // Async, where this ps was started again:
  std::optional<ToldClocks> clocks_;
  bool awaits_clocks_ = false;
  std::int64_t lost_updates_;
  std::vector<std::function<void()>> deferred_;  // by rank: what waits for them
  std::optional<Error> broken_;
};

}  // namespace trainyard::runtime
