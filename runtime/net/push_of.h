// A push as a frame tells it.
#pragma once

#include "runtime/net/aggregator.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {

// `gradient`: what came as its data.
Push push_of(const proto::PushFrame& header, Payload gradient);

}  // namespace trainyard::runtime
