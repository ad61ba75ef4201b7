// Pushes that begin before their gradient is whole, to the ps that are reached by a stream socket.
// In shared memory there is nothing to send, and gRPC sends whole messages only.
#include <algorithm>
#include <utility>

#include "runtime/net/remote_ps.h"
#include "runtime/net/tail_pieces.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

bool RemoteParams::can_begin_push() const {
  return usable_ && !options_.cuts.empty() && !encoder_ &&
         std::ranges::any_of(ps_, [this](const auto& ps) { return takes_pieces(*ps); });
}

bool RemoteParams::takes_pieces(const Ps& ps) const {
  const std::int64_t bytes = gradient_bytes(Wire::float32, ps.share);
  return ps.lane && bytes > 0 && bytes >= options_.streamed_bytes_min;
}

bool RemoteParams::begin_push(const Contribution& contribution) {
  if (!can_begin_push()) return false;
  ENSURE(contribution.sums.examples > 0);
  std::vector<StreamLane*> lanes;
  for (const auto& ps : ps_) {
    if (!takes_pieces(*ps)) continue;
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
    traffic_.sent += gradient_bytes(Wire::float32, ps->share) * options_.parts;
    ps->streams = true;
    ps->awaited = true;
    lanes.push_back(&*ps->lane);
  }
  usable_ = false;  // for anything but the rest of it
  begun_step_ = contribution.step;
  sender_->start(std::move(lanes));
  return true;
}

void RemoteParams::release(std::int64_t from) {
  if (!begun_step_) return;
  for (const auto& ps : ps_) {
    if (ps->streams) ps->lane->release(from);
  }
  sender_->ring();
}

void RemoteParams::end_streaming() {
  release(0);
  sender_->stop();
  begun_step_.reset();
  usable_ = true;
}

}  // namespace trainyard::runtime
