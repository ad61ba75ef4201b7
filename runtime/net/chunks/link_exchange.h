// Which step a worker may compute, and what it tells its ps of that: Exchange, or with backup
// workers BackupExchange, whose effects become frames here. Whoever owns it guards it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/batch_sums.h"
#include "runtime/core/exchange_words.h"
#include "runtime/net/chunks/named_ranks.h"
#include "runtime/net/chunks/small_frames.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "runtime/worker/backup_exchange.h"
#include "runtime/worker/exchange.h"
#include "runtime/worker/norm_gathering.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class LinkExchange {
 public:
  struct Rules {
    std::int64_t rank = 0;
    std::int64_t servers = 1;
    Mode mode = Mode::sync;
    std::int64_t max_steps = 1;
    bool asks_ahead = false;                  // as in Exchange::Rules
    std::optional<StepMembers> backups = {};  // sync with backup workers
    bool gathers_norms = false;               // the chief, where several ps clip by the norm
  };
  // The gang has to begin anew.
  using GiveUpHandler = std::function<void(const std::string& why)>;
  // Frames wait in `small`. Both outlive this.
  LinkExchange(Rules rules, const WorkerArenas& arenas, SmallFrames& small, GiveUpHandler give_up);

  void step(const ExchangeEvent& event) { perform(core_.step(event)); }

  // None: there is none yet, or it was taken.
  [[nodiscard]] const std::optional<NextStep>& next() const { return next_; }
  NextStep take_next() { return *std::exchange(next_, std::nullopt); }
  // As WorkerExchange has them.
  [[nodiscard]] std::int64_t readable() { return core_.readable(); }
  [[nodiscard]] bool wants(const ParametersCame& came) const { return core_.wants(came); }
  [[nodiscard]] std::optional<WorkerExchange::ChunkToSend> next_to_send(std::size_t ps);

  // Async: ps 0 says when a gradient may be pushed.
  [[nodiscard]] bool has_turns() const { return rules_.mode == Mode::async; }

  // To ps 0: the sums of a step's batch, again by each new connection.
  void say_sums(std::int64_t step, const BatchSums& sums);
  void say_sums_again();
  // What they said of the step; 0: nothing yet.
  [[nodiscard]] std::int64_t denominator_of(std::int64_t step) const;

  // Sync: as Exchange::ask_snapshot().
  std::int64_t ask_snapshot();
  // As Exchange::marked().
  [[nodiscard]] std::int64_t marked_snapshot() const;

  // With backup workers. As BackupExchange::want_snapshot().
  void want_snapshot(AfterSnapshot then);
  // The newest version that is to be a snapshot; 0: none since the ps began.
  [[nodiscard]] std::int64_t named_snapshot() const;
  // Likewise, but `wanted` or a later one; 0: training is over without, as that of the last step is
  // the end's own. None: not known yet.
  [[nodiscard]] std::optional<std::int64_t> named_snapshot_from(std::int64_t wanted) const;
  // To ps 0: what was sent of a step is whole.
  std::optional<FrameStream::Outgoing> next_report();
  // What ps 0 says: which ranks make a step; how many gradients of a rank were left out.
  Status take_names(std::size_t ps, const FrameHeader& header, std::span<const std::byte> payload);
  Status take_late(std::size_t ps, const FrameHeader& header);
  [[nodiscard]] const std::vector<std::int64_t>& left_out() const { return left_out_; }

  // What a ps says of its share of a gradient: once all have, each is told of all.
  Status take_squares(std::size_t ps, const FrameHeader& header,
                      std::span<const std::byte> payload);

 private:
  void perform(const std::vector<ExchangeEffect>& effects);
  void hand_names(std::int64_t ps);

  const Rules rules_;
  const WorkerArenas& arenas_;
  SmallFrames& small_;
  const GiveUpHandler give_up_;
  const std::unique_ptr<Exchange> plain_;  // this or the next
  const std::unique_ptr<BackupExchange> backup_;
  WorkerExchange& core_;  // whichever there is
  std::optional<NormGathering> norms_;
  std::vector<std::int64_t> left_out_;             // by rank
  std::array<FrameStream::Outgoing, 2> sums_;      // by step modulo 2
  std::array<std::int64_t, 2> denominators_ = {};  // likewise
  std::optional<NextStep> next_;
};

}  // namespace trainyard::runtime
