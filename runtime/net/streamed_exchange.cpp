// Pushes that begin before their gradient is whole, to the ps that are reached by a stream socket.
// In shared memory there is nothing to send, and gRPC sends whole messages only.
#include <utility>

#include "runtime/net/remote_ps.h"
#include "runtime/net/tail_pieces.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
bool RemoteParams::begin_push(const Contribution& contribution) {
  if (!usable_ || options_.cuts.empty() || encoder_) return false;
  ENSURE(contribution.sums.examples > 0);
  std::vector<StreamLane*> lanes;
  for (const auto& ps : ps_) {
    const std::int64_t bytes = gradient_bytes(Wire::float32, ps->share);
    if (!ps->lane || bytes == 0 || bytes < options_.streamed_bytes_min) continue;
    if (!sender_) {
      auto created = GradientSender::create();
      if (!created.has_value()) return false;
      sender_ = *std::move(created);
    }
    proto::PushFrame header = push_frame(*ps, contribution);
    sign(*ps, header);
    auto pieces = tail_pieces(contribution.gradient->span(), options_.arena_elements, ps->share,
                              options_.cuts);
    pieces.front().payload.owner = contribution.gradient;
    ps->lane->begin(header, std::move(pieces), places_for(*ps));
    traffic_.sent += bytes * options_.parts;
    ps->streams = true;
    ps->awaited = true;
    lanes.push_back(&*ps->lane);
  }
  if (lanes.empty()) return false;
  usable_ = false;  // for anything but the rest of it
  streams_ = true;
  sender_->start(std::move(lanes));
  return true;
}

void RemoteParams::release(std::int64_t from) {
  if (!streams_) return;
  for (const auto& ps : ps_) {
    if (ps->streams) ps->lane->release(from);
  }
  sender_->ring();
}

void RemoteParams::end_streaming() {
  release(0);
  sender_->stop();
  streams_ = false;
  usable_ = true;
}

}  // namespace trainyard::runtime
