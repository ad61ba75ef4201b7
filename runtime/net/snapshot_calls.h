// Asking every ps for its shard of a checkpoint.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "runtime/net/snapshot_desk.h"
#include "schemas/base/result.h"
#include "schemas/proto/params.grpc.pb.h"

namespace trainyard::runtime {

// Waits for all of them; in the order of `ps`.
std::vector<Result<WrittenShard>> take_snapshots(std::span<proto::Params::Stub* const> ps,
                                                 const proto::SnapshotRequest& request,
                                                 const std::stop_token& stop);

}  // namespace trainyard::runtime
