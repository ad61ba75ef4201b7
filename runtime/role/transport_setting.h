// Which way to the ps an operator allows, where the best one misbehaves on a host.
#pragma once

#include "runtime/net/remote_params.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

inline constexpr char transport_variable[] = "TRAINYARD_TRANSPORT";

// The best transport that this task may try: what the environment's variable names (shared_memory,
// unix, tcp or grpc), shared memory where it is not set. `invalid` for any other name.
Result<RemoteOptions::Transport> allowed_transport();

}  // namespace trainyard::runtime
