// Pushes that begin before their gradient is whole, or that a ps sums before all of it has come;
// and answers that end after the first of their parameters are read. All of a stream socket; shared
// memory has the former alone, for nothing is sent there, and gRPC sends whole messages only.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/net/remote_ps.h"
#include "runtime/net/tail_pieces.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Less is received at once, and summed as fast.
constexpr std::int64_t kFromEndElementsMin = 1 << 16;
// Finer than the pieces that are made of them, so that these are of a size.
constexpr std::int64_t kCutElementsMin = 1 << 14;
constexpr std::int64_t kCutsOfArena = 512;

// Where an arena is cut whose gradient is whole.
std::vector<std::int64_t> even_cuts(std::int64_t arena_elements) {
  const std::int64_t apart = std::max(arena_elements / kCutsOfArena, kCutElementsMin);
  std::vector<std::int64_t> cuts;
  for (std::int64_t at = 0; at < arena_elements; at += apart) cuts.push_back(at);
  return cuts;
}

// Of a backward pass the first variable's gradient is final last, with all before it.
std::int64_t final_last_of(const RemoteOptions& options) {
  return options.cuts.size() > 1 ? options.cuts[1] : options.arena_elements;
}

// Between variables; and anywhere in the first one, which is whole when it leaves.
std::vector<std::int64_t> cuts_of_begun(const RemoteOptions& options) {
  std::vector<std::int64_t> cuts = even_cuts(options.arena_elements);
  std::erase_if(cuts, [last = final_last_of(options)](std::int64_t cut) { return cut >= last; });
  cuts.insert(cuts.end(), options.cuts.begin() + 1, options.cuts.end());
  return cuts;
}

// Ranges of a share lie one after another in its frames.
std::int64_t elements_before(const Share& share, std::int64_t end) {
  std::int64_t count = 0;
  for (const Range& range : share.ranges) {
    count += std::max<std::int64_t>(std::min(range.end, end) - range.begin, 0);
  }
  return count;
}

}  // namespace

bool RemoteParams::can_begin_push() const {
  return usable_ && !options_.cuts.empty() && !encoder_ &&
         std::ranges::any_of(ps_, [this](const auto& ps) { return takes_pieces(*ps); });
}

bool RemoteParams::takes_pieces(const Ps& ps) const {
  const std::int64_t bytes = gradient_bytes(Wire::float32, ps.share);
  const bool has_way = ps.lane || (ps.shared && options_.summed_early && !options_.backup_workers);
  return has_way && bytes > 0 && bytes >= options_.streamed_bytes_min;
}

bool RemoteParams::begin_push(const Contribution& contribution) {
  if (!can_begin_push() || !receive_all().has_value()) return false;
  ENSURE(contribution.sums.examples > 0);
  const bool is_shared = arena_ && arena_->span().data() == contribution.gradient->data();
  std::vector<StreamLane*> lanes;
  for (const auto& ps : ps_) {
    if (!takes_pieces(*ps) || (ps->shared && !is_shared)) continue;
    if (ps->lane && !sender_) {
      auto created = GradientSender::create();
      if (!created.has_value()) return false;
      sender_ = *std::move(created);
    }
    proto::PushFrame header = push_frame(*ps, contribution);
    sign(*ps, header);
    ps->begun = true;
    if (ps->shared) {
      ps->shared->begin(header);
      continue;
    }
    if (begun_cuts_.empty()) begun_cuts_ = cuts_of_begun(options_);
    begin_from_end(*ps, header, contribution, begun_cuts_, final_last_of(options_));
    lanes.push_back(&*ps->lane);
  }
  if (std::ranges::none_of(ps_, [](const auto& ps) { return ps->begun; })) return false;
  usable_ = false;  // for anything but the rest of it
  begun_step_ = contribution.step;
  if (!lanes.empty()) sender_->start(std::move(lanes));
  return true;
}

// By a lane: nothing of the gradient leaves before it is released.
void RemoteParams::begin_from_end(Ps& ps, const proto::PushFrame& header,
                                  const Contribution& contribution,
                                  std::span<const std::int64_t> cuts, std::int64_t final_last) {
  auto pieces = tail_pieces(contribution.gradient->span(), options_.arena_elements, ps.share, cuts);
  pieces.front().payload.owner = contribution.gradient;
  ps.lane->begin(header, std::move(pieces), places_for(ps), final_last);
  traffic_.sent += gradient_bytes(Wire::float32, ps.share) * options_.parts;
  ps.awaited = true;
}

// Whole, but as its end alone can be summed while the rest is on its way.
bool RemoteParams::goes_from_end(const Ps& ps) const {
  return ps.lane && options_.summed_early && !options_.backup_workers && !options_.ps_return &&
         !encoder_ && options_.parts == 1 && ps.share.elements() >= kFromEndElementsMin;
}

void RemoteParams::send_from_end(Ps& ps, proto::PushFrame& header,
                                 const Contribution& contribution) {
  if (even_cuts_.empty()) even_cuts_ = even_cuts(options_.arena_elements);
  sign(ps, header);
  keep(ps, header, payload_for(ps, contribution));
  begin_from_end(ps, header, contribution, even_cuts_, options_.arena_elements);
  ps.lane->release(0);
  // What went wrong, if it did, is found out when its answer is waited for.
  static_cast<void>(ps.lane->send_on());
}

void RemoteParams::release(std::int64_t from) {
  if (!begun_step_) return;
  bool streams = false;
  for (const auto& ps : ps_) {
    if (!ps->begun) continue;
    if (ps->shared) ps->shared->release(elements_before(ps->share, from));
    if (ps->lane) ps->lane->release(from);
    streams = streams || ps->lane;
  }
  if (streams) sender_->ring();
}

void RemoteParams::end_streaming() {
  release(0);
  if (sender_) sender_->stop();
  begun_step_.reset();
  usable_ = true;
}

// With backup workers others may have to be told of an answer first; and one that breaks off where
// a ps may come back is asked for again, as a whole.
bool RemoteParams::answers_in_pieces(const Ps& ps) const {
  const std::int64_t bytes = gradient_bytes(Wire::float32, ps.share);
  return options_.parameters_follow && !options_.backup_workers && !options_.ps_return && ps.lane &&
         ps.wanted == proto::FLOAT32 && bytes >= options_.streamed_bytes_min;
}

// The header of its answer is there, and not all that follows.
bool RemoteParams::is_arriving(const Ps& ps) {
  return !ps.awaited && ps.follows && ps.lane && ps.lane->is_arriving();
}

void RemoteParams::receive_the_rest() {
  std::vector<StreamLane*> lanes;
  for (const auto& ps : ps_) {
    if (is_arriving(*ps)) lanes.push_back(&*ps->lane);
  }
  if (lanes.empty()) return;
  if (!receiver_) receiver_ = std::make_unique<ParameterReceiver>();
  receiver_->start(std::move(lanes));
  arriving_ = true;
}

Status RemoteParams::await_parameters(std::int64_t end) {
  if (!arriving_) return ok();
  std::vector<ParameterReceiver::Need> needed;
  for (const auto& ps : ps_) {
    if (!ps->lane || !ps->follows || ps->holds) continue;
    const std::int64_t before = elements_before(ps->share, end);
    needed.push_back({&*ps->lane, static_cast<std::uint64_t>(before * float_bytes)});
  }
  return wait_for(needed);
}

// What failed is not written any more when this returns.
Status RemoteParams::wait_for(std::span<const ParameterReceiver::Need> needed) {
  usable_ = false;  // until it is well again
  Patience patience = patience_for(options_.exchange_limit);
  Status waited = ok();
  while (waited.has_value() && !receiver_->wait(needed, kLookUp)) waited = keep_waiting(patience);
  const auto late = std::ranges::find_if(
      needed, [](const auto& need) { return !need.lane->has_come(need.bytes); });
  const StreamLane* lane = late == needed.end() ? nullptr : late->lane;
  if (const auto failure = receiver_->failure()) {
    lane = failure->lane;
    waited = failure->error;
  }
  if (!waited.has_value() && lane != nullptr && !options_.stop.stop_requested()) {
    const auto of = std::ranges::find_if(
        ps_, [lane](const auto& ps) { return ps->lane && &*ps->lane == lane; });
    waited = (*of)->explain(waited.error());
  }
  usable_ = waited.has_value();
  if (usable_) return waited;
  failure_ = waited.error();
  arriving_ = false;
  receiver_.reset();
  return waited;
}

Error RemoteParams::why_closed() const {
  return failure_.value_or(unavailable("the streams to the ps are closed"));
}

Status RemoteParams::receive_all() {
  if (!arriving_) return ok();
  TRY(await_parameters(options_.arena_elements));
  receiver_->wait_until_idle();
  arriving_ = false;
  return ok();
}

}  // namespace trainyard::runtime
