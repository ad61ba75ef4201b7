// The parameters in the worker's own process: strategy `local`, and the reference in tests. The
// same aggregator and optimizer as on a ps, without a network.
#pragma once

#include "runtime/net/params_channel.h"

namespace trainyard::runtime {

class LocalParams final : public ParamsChannel {
 public:
  // rules.gate.ranks must be 1; the shard holds the whole arena.
  LocalParams(Aggregator::Rules rules, ParameterShard shard, Aggregator::Start start,
              SnapshotFiles files, std::optional<RowTable> rows = {});

  Result<Pulled> pull(std::int64_t at_least) override;
  Result<Pulled> pull_exactly(std::int64_t version) override;
  Result<Pulled> pull_turn() override { return pull(0); }  // nobody else has one
  Result<Pulled> push_pull(const Contribution& contribution) override;
  Status inherit(std::int64_t /*rank*/, const Contribution& /*contribution*/) override {
    return invalid("nobody else is in this job");
  }
  Status read_rows(std::span<const std::int64_t> ids, std::span<float> rows) override;
  Status push_rows(std::int64_t step, std::vector<RowGradients> parts) override;
  Result<std::vector<WrittenShard>> snapshot(const SnapshotDesk::Request& request) override;
  Status finish() override { return ok(); }

 private:
  Result<Pulled> keep(Result<Answer> answer);

  SnapshotDesk desk_;
  std::mutex mutex_;
  Aggregator aggregator_;  // guarded by mutex_: the chief asks for snapshots on another thread
  std::int64_t version_ = 0;
  Weights lent_;  // to the worker, until its next call
  Share whole_;
};

}  // namespace trainyard::runtime
