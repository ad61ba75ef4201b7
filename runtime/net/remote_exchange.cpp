// Frames go to all ps before any answer is waited for; answers are copied in, and decoded, as they
// come, or come to their place by themselves.
#include <poll.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/net/frame.h"
#include "runtime/net/large_buffer.h"
#include "runtime/net/remote_ps.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTurn{1};  // of gRPC's queue, while lanes are waited for too

// What parameters are encoded as: those of a float32 or a bfloat16 job.
Wire wire_of(proto::Encoding encoding) {
  return encoding == proto::BFLOAT16 ? Wire::bfloat16 : Wire::float32;
}

proto::PushFrame pull_frame(std::int64_t version) {
  proto::PushFrame header;
  header.set_step(version);
  return header;
}

}  // namespace

Result<Pulled> RemoteParams::pull(std::int64_t at_least) {
  return pull_from_all(parameter_encoding(options_.wire),
                       [at_least](const Ps&) { return pull_frame(at_least); });
}

Result<Pulled> RemoteParams::pull_master(std::int64_t at_least) {
  return pull_from_all(proto::FLOAT32, [at_least](const Ps&) { return pull_frame(at_least); });
}

Result<Pulled> RemoteParams::pull_exactly(std::int64_t version) {
  return pull_from_all(parameter_encoding(options_.wire), [version](const Ps&) {
    proto::PushFrame header = pull_frame(version);
    header.set_exactly(true);
    return header;
  });
}

// Ps 0 alone gives turns.
Result<Pulled> RemoteParams::pull_turn() {
  return pull_from_all(parameter_encoding(options_.wire), [](const Ps& ps) {
    proto::PushFrame header =
        pull_frame(ps.index == 0 ? std::numeric_limits<std::int64_t>::max() : 0);
    header.set_for_turn(true);
    return header;
  });
}

template <typename FrameOf>
Result<Pulled> RemoteParams::pull_from_all(proto::Encoding wanted, FrameOf frame_of) {
  TRY(receive_all());
  if (!usable_) return why_closed();
  if (asks_leader_first()) return pull_leader_first(frame_of(*ps_.front()), wanted);
  for (const auto& ps : ps_) {
    proto::PushFrame header = frame_of(*ps);
    ps->wanted = wanted;
    ps->follows = false;
    TRY(send(*ps, header, {}));
  }
  TRY(receive_answers());
  return together();
}

// The gradients are where all ps can have them.
void RemoteParams::prepare(const Contribution& contribution) {
  if (encoder_) {
    encoder_->encode(contribution.gradient->span(), contribution.residual_scale);
  } else if (arena_ && arena_->span().data() != contribution.gradient->data()) {
    std::ranges::copy(contribution.gradient->span(), arena_->buffer().data());
  }
}

Payload RemoteParams::payload_for(const Ps& ps, const Contribution& contribution) const {
  if (encoder_) {
    return encoder_->payload(ps.share,
                             contribution.residuals ? WithResiduals::yes : WithResiduals::no);
  }
  Payload payload = payload_of(contribution.gradient->span(), options_.arena_elements, ps.share);
  payload.owner = contribution.gradient;
  return payload;
}

proto::PushFrame RemoteParams::push_frame(Ps& ps, const Contribution& contribution) const {
  proto::PushFrame header;
  header.set_step(contribution.step);
  header.set_base_version(ps.version);
  header.set_examples(contribution.sums.examples);
  header.set_loss_sum(contribution.sums.loss_sum);
  header.set_correct(contribution.sums.correct);
  header.set_snapshot_step(contribution.snapshot_step);
  header.set_holds(contribution.holds);
  header.set_announced_snapshot(contribution.announced_snapshot);
  header.set_encoding(gradient_encoding(options_.wire));
  header.set_residuals(contribution.residuals);
  ps.wanted = parameter_encoding(options_.wire);
  return header;
}

Result<Pulled> RemoteParams::push_pull(const Contribution& contribution) {
  const auto start = std::chrono::steady_clock::now();
  if (begun_step_) {
    ENSURE(contribution.step == *begun_step_);
    end_streaming();
  }
  TRY(receive_all());
  if (!usable_) return why_closed();
  ENSURE(contribution.sums.examples > 0);
  prepare(contribution);
  for (const auto& ps : ps_) {
    proto::PushFrame header = push_frame(*ps, contribution);
    ps->follows = answers_in_pieces(*ps);
    if (std::exchange(ps->begun, false) && ps->lane) {  // it is on its way
      keep(*ps, header, payload_for(*ps, contribution));
      continue;
    }
    if (goes_from_end(*ps)) {
      send_from_end(*ps, header, contribution);
    } else {
      TRY(send(*ps, header, payload_for(*ps, contribution)));
    }
  }
  const Seconds push = std::chrono::steady_clock::now() - start;
  TRY_ASSIGN(Pulled pulled, answer_to(contribution));
  pulled.times.push = push;
  return pulled;
}

Result<Pulled> RemoteParams::answer_to(const Contribution& contribution) {
  if (asks_leader_first()) {
    TRY(wait_until_held());
    proto::PushFrame header;
    header.set_step(contribution.step);
    header.set_ready(true);
    return pull_leader_first(std::move(header), parameter_encoding(options_.wire));
  }
  TRY(receive_answers());
  receive_the_rest();
  Pulled pulled = together();
  if (options_.backup_workers) {
    pulled.contributed = ps_.front()->made_of(contribution.step, options_.rank);
  }
  return pulled;
}

void RemoteParams::sign(const Ps& ps, proto::PushFrame& header) const {
  header.set_token(options_.token);
  header.set_rank(options_.rank);
  header.set_process(process_);
  header.set_connection(ps.connection);
  header.set_wanted(ps.wanted);
}

Status RemoteParams::send(Ps& ps, proto::PushFrame& header, const Payload& payload) {
  sign(ps, header);
  keep(ps, header, payload);
  if (std::exchange(ps.tells, false)) tell_clock(ps, header);
  ps.awaited = true;
  traffic_.sent += payload.bytes();
  if (ps.lane) {
    ps.lane->send(header, payload, places_for(ps));
    return ok();
  }
  if (ps.shared) {
    const Status sent = ps.shared->send(header);
    if (options_.ps_return) return ok();  // that it is gone is noticed by its socket's end
    if (sent.has_value()) return ok();
    usable_ = false;
    failure_ = ps.explain(sent.error());
    return *failure_;
  }
  ps.call->stream->Write(encode_frame(header, payload), &ps.call->sent);
  ps.call->stream->Read(&ps.call->incoming, &ps.call->received);
  ps.call->owed += 2;
  return ok();
}

std::size_t RemoteParams::owed() const {
  std::size_t sum = 0;
  for (const auto& ps : ps_) sum += ps->call ? ps->call->owed : 0;
  return sum;
}

// Made when it is first needed: one ps in shared memory needs none.
std::span<float> RemoteParams::assembled() {
  const auto elements = static_cast<std::size_t>(options_.arena_elements);
  if (assembled_.size() != elements) assembled_ = large_buffer(elements);
  return assembled_.span();
}

Status RemoteParams::receive_sent() {
  const Status received = await_answers();
  usable_ = received.has_value();
  if (!usable_) failure_ = received.error();
  return received;
}

// From each ps its parameters, or what it asks for before it has them.
Status RemoteParams::receive_answers() {
  TRY(receive_sent());
  for (const auto& ps : ps_) {
    if (ps->holds && !ps->pulled.inheritance.asked()) {
      return ps->explain(invalid("answered without parameters"));
    }
    // They are one step apart at most, and this worker has pushed for the later one.
    const auto asks_else = [&ps](const auto& other) {
      return other->holds && other->pulled.inheritance.step != ps->pulled.inheritance.step;
    };
    if (ps->holds && std::ranges::any_of(ps_, asks_else)) {
      return ps->explain(invalid("asks for gradients of another step than others"));
    }
  }
  return ok();
}

Pulled RemoteParams::together() {
  Pulled pulled = ps_.front()->pulled;
  for (const auto& ps : ps_) {
    pulled.oldest = std::min(pulled.oldest, ps->version);
    pulled.newest = std::max(pulled.newest, ps->version);
    pulled.rank_step = std::min(pulled.rank_step, ps->pulled.rank_step);
    pulled.rank_step_max = std::max(pulled.rank_step_max, ps->pulled.rank_step);
    pulled.asked_snapshot = std::max(pulled.asked_snapshot, ps->pulled.asked_snapshot);
    if (ps != ps_.front()) pulled.lost_updates += ps->pulled.lost_updates;
    pulled.times.apply = std::max(pulled.times.apply, ps->pulled.times.apply);
    pulled.inheritance.add(ps->pulled.inheritance);
  }
  pulled.was_cut = std::exchange(was_cut_, false);
  pulled.times.pull = std::exchange(assembling_, {});
  pulled.traffic = std::exchange(traffic_, {});
  return pulled;
}

// All ps are watched together: the first that fails ends the exchange, whichever it is. Where some
// are reached by gRPC, which moves only while somebody waits on its queue, and some are not, the
// two take turns.
Status RemoteParams::await_answers() {
  Patience patience = patience_for(options_.exchange_limit);
  watch_at_ = WallClock::now() + kLookUp;
  news_at_ = WallClock::now() + kNewsAfter;
  for (;;) {
    const auto unanswered = std::ranges::find_if(ps_, [](const auto& ps) { return ps->awaited; });
    const bool lanes =
        std::ranges::any_of(ps_, [](const auto& ps) { return !ps->by_grpc() && ps->awaited; });
    const bool streams = owed() > 0;
    if (!lanes && !streams) return ok();

    bool moved = false;
    if (lanes) {
      TRY_ASSIGN(moved, watch_lanes(streams ? milliseconds(0) : kLookUp));
    }
    if (streams) {
      const auto turn = moved ? milliseconds(0) : lanes ? kTurn : kLookUp;
      if (const auto completed = completion_until(WallClock::now() + turn)) {
        TRY(complete(*completed));
      }
    }
    if (options_.ps_return) TRY(watch_answered());
    if (std::exchange(mended_, false)) patience = patience_for(options_.exchange_limit);
    const Status waiting = keep_waiting(patience);
    if (waiting.has_value()) continue;
    const bool named = unanswered != ps_.end() && !options_.stop.stop_requested();
    return named ? (*unanswered)->explain(waiting.error()) : waiting.error();
  }
}

// True when one of them had something to do.
Result<bool> RemoteParams::watch_lanes(milliseconds limit) {
  std::vector<pollfd> watched;
  std::vector<Ps*> of;
  for (const auto& ps : ps_) {
    if (ps->by_grpc() || !(ps->awaited || is_arriving(*ps))) continue;
    of.push_back(ps.get());
    watched.push_back({.fd = ps->lane ? ps->lane->descriptor() : ps->shared->descriptor(),
                       .events = ps->lane ? ps->lane->awaited() : short{POLLIN},
                       .revents = 0});
  }
  if (::poll(watched.data(), watched.size(), static_cast<int>(limit.count())) <= 0) return false;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (watched[i].revents != 0) TRY(advance(*of[i]));
  }
  return true;
}

Status RemoteParams::advance(Ps& ps) {
  if (!ps.awaited) {
    const Status more = ps.lane->receive_more();
    return more.has_value() ? more : Status(ps.explain(more.error()));
  }
  if (ps.shared) {
    const auto received = ps.shared->receive();
    if (!received.has_value()) return mend(ps, received.error());
    if (*received) receive_shared(ps, **received);
    return ok();
  }
  const auto header = ps.follows ? ps.lane->advance_to_header() : ps.lane->advance();
  if (!header.has_value()) return mend(ps, header.error());
  if (*header) return receive_streamed(ps, **header);
  return ok();
}

// What comes as it is to be read goes straight to its place.
std::vector<std::span<std::byte>> RemoteParams::places_for(Ps& ps) {
  std::vector<std::span<std::byte>> places;
  if (ps.wanted == proto::FLOAT32) {
    for (const Range& range : ps.share.ranges) {
      places.push_back(std::as_writable_bytes(assembled().subspan(
          static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()))));
    }
    return places;
  }
  const auto bytes = static_cast<std::size_t>(gradient_bytes(wire_of(ps.wanted), ps.share));
  const std::size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
  if (ps.landing.size() != floats) ps.landing = large_buffer(floats);
  places.push_back(std::as_writable_bytes(ps.landing.span()).first(bytes));
  return places;
}

Status RemoteParams::receive_streamed(Ps& ps, const proto::PullFrame& header) {
  if (header.held()) {
    ps.note(header);
    return ok();
  }
  TRY(check_encoding(ps, header));
  ps.note(header);
  const std::int64_t bytes = gradient_bytes(wire_of(ps.wanted), ps.share);
  if (ps.wanted == proto::FLOAT32) {
    traffic_.received += bytes;
    ps.pulled.parameters = assembled();
    return ok();
  }
  const auto landed = std::as_bytes(ps.landing.span()).first(static_cast<std::size_t>(bytes));
  take(ps, {.pieces = {landed}, .owner = nullptr});
  return ok();
}

Status RemoteParams::check_encoding(const Ps& ps, const proto::PullFrame& header) const {
  if (header.encoding() == ps.wanted) return ok();
  return ps.explain(invalid("answered in " + std::string(encoding_name(header.encoding())) +
                            ", not " + std::string(encoding_name(ps.wanted))));
}

Status RemoteParams::receive(Ps& ps) {
  auto frame = decode_pull(ps.call->incoming);
  ps.call->incoming.Clear();
  if (!frame.has_value()) return ps.explain(frame.error());
  if (frame->header.held()) {
    ps.note(frame->header);
    return ok();
  }
  TRY(check_encoding(ps, frame->header));
  const std::int64_t bytes = gradient_bytes(wire_of(ps.wanted), ps.share);
  if (frame->payload.bytes() != bytes) {
    return ps.explain(invalid("answered with " + std::to_string(frame->payload.bytes()) +
                              " bytes, not " + std::to_string(bytes)));
  }
  ps.note(frame->header);
  take(ps, frame->payload);
  return ok();
}

// Copies the parameters to their place in the arena, as what they were rounded to.
void RemoteParams::take(Ps& ps, const Payload& parameters) {
  const auto start = std::chrono::steady_clock::now();
  traffic_.received += parameters.bytes();
  GradientReader reader(wire_of(ps.wanted), ps.share, parameters);
  for (const Range& range : ps.share.ranges) {
    reader.read(assembled().subspan(static_cast<std::size_t>(range.begin),
                                    static_cast<std::size_t>(range.size())));
  }
  ps.pulled.parameters = assembled();
  assembling_ += std::chrono::steady_clock::now() - start;
}

void RemoteParams::receive_shared(Ps& ps, const SharedLane::Received& received) {
  ps.note(received.header);
  if (ps.holds) return;
  const auto bytes =
      std::as_bytes(received.parameters)
          .first(static_cast<std::size_t>(gradient_bytes(wire_of(ps.wanted), ps.share)));
  if (ps_.size() == 1 && ps.wanted == proto::FLOAT32) {
    traffic_.received += std::ssize(bytes);
    ps.pulled.parameters = received.parameters;
    return;
  }
  take(ps, {.pieces = {bytes}, .owner = nullptr});
}

}  // namespace trainyard::runtime
