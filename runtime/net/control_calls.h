// A worker's calls on a ps' control channel, where they never queue behind gradients.
#pragma once

#include <chrono>
#include <span>
#include <stop_token>

#include "schemas/base/result.h"
#include "schemas/proto/params.grpc.pb.h"

namespace trainyard::runtime {

// Waits for the ps to be up, until the limit or until `stop`: then `unavailable`. `conflict` where
// it refuses the token.
Result<proto::PsStatus> describe_ps(proto::Params::Stub& ps, const proto::Caller& caller,
                                    std::chrono::milliseconds limit, const std::stop_token& stop);

// The residual of a leaf: the floats of the ps' share, into `out`. `invalid` where it has another
// size, `not_found` where the ps has none.
Status read_residual(proto::Params::Stub& ps, const proto::Caller& caller, std::int64_t leaf,
                     std::chrono::milliseconds limit, std::span<float> out);

// The weights of the checkpoint of `step`, as above; `not_found` where a newer one was written.
Status read_snapshot_weights(proto::Params::Stub& ps, const proto::Caller& caller,
                             std::int64_t step, std::chrono::milliseconds limit,
                             std::span<float> out);

// Tells the ps that training is over: it may exit once every rank knows. `unavailable` after 10 s,
// or where it is not there at once; one that may come back is waited for up to `patience`, where
// that is not zero.
Status say_finished(proto::Params::Stub& ps, const proto::Caller& caller,
                    std::chrono::milliseconds patience);

}  // namespace trainyard::runtime
