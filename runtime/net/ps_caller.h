// A worker as a ps sees it, whatever way it comes.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/net/aggregator.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {

struct PsCaller {
  PsCaller() = default;
  virtual ~PsCaller() = default;
  PsCaller(const PsCaller&) = delete;
  PsCaller& operator=(const PsCaller&) = delete;

  std::int64_t rank = -1;                   // of the first frame; later ones must carry the same
  proto::Encoding wanted = proto::FLOAT32;  // of the answer to the newest frame
  // Where the gradient of the frame that comes lies, if it was given one; see Push.
  std::shared_ptr<WeightsBuffer> landing;
};

// All of a frame down but its parameters, which it has none of where the push is held.
proto::PullFrame pull_frame_of(const Answer& answer, proto::Encoding encoding);
// The parameters where they lie, for as long as they are held.
Payload parameters_of(const Answer& answer, proto::Encoding encoding);
// What it tells of the staleness of updates.
StalenessCounts stale_of(const proto::PullFrame& frame);

}  // namespace trainyard::runtime
