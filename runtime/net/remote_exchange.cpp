// Frames go to all ps before any answer is waited for; answers are copied in, and decoded, as they
// come.
#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/net/frame.h"
#include "runtime/net/remote_ps.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

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
  if (!usable_) return unavailable("the streams to the ps are closed");
  for (const auto& ps : ps_) {
    proto::PushFrame header = frame_of(*ps);
    ps->wanted = wanted;
    TRY(send(*ps, header, {}));
  }
  return receive_all();
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

Result<Pulled> RemoteParams::push_pull(const Contribution& contribution) {
  if (!usable_) return unavailable("the streams to the ps are closed");
  ENSURE(contribution.sums.examples > 0);
  const auto start = std::chrono::steady_clock::now();
  prepare(contribution);
  for (const auto& ps : ps_) {
    proto::PushFrame header;
    header.set_step(contribution.step);
    header.set_base_version(ps->version);
    header.set_examples(contribution.sums.examples);
    header.set_loss_sum(contribution.sums.loss_sum);
    header.set_correct(contribution.sums.correct);
    header.set_snapshot_step(contribution.snapshot_step);
    header.set_announced_snapshot(contribution.announced_snapshot);
    header.set_encoding(gradient_encoding(options_.wire));
    header.set_residuals(contribution.residuals);
    ps->wanted = parameter_encoding(options_.wire);
    TRY(send(*ps, header, payload_for(*ps, contribution)));
  }
  const Seconds push = std::chrono::steady_clock::now() - start;
  TRY_ASSIGN(Pulled pulled, receive_all());
  pulled.times.push = push;
  return pulled;
}

Status RemoteParams::send(Ps& ps, proto::PushFrame& header, const Payload& payload) {
  header.set_token(options_.token);
  header.set_rank(options_.rank);
  header.set_process(process_);
  header.set_wanted(ps.wanted);
  traffic_.sent += payload.bytes();
  if (ps.lane) {
    const Status sent = ps.lane->send(header);
    usable_ = usable_ && sent.has_value();
    if (!sent.has_value()) return ps.explain(sent.error());
    return ok();
  }
  ps.stream->Write(encode_frame(header, payload), &ps.sent);
  ps.stream->Read(&ps.incoming, &ps.received);
  return ok();
}

std::size_t RemoteParams::stream_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ps_, [](const auto& ps) { return !ps->lane; }));
}

// Made when it is first needed: one ps in shared memory needs none.
std::span<float> RemoteParams::assembled() {
  const auto elements = static_cast<std::size_t>(options_.arena_elements);
  if (assembled_.size() != elements) assembled_ = AlignedBuffer(elements);
  return assembled_.span();
}

Result<Pulled> RemoteParams::receive_all() {
  usable_ = false;  // until all is well again
  assembling_ = {};
  const auto deadline = std::chrono::system_clock::now() + options_.exchange_limit;
  // gRPC moves only while somebody waits on its queue; packets come by themselves.
  for (std::size_t outstanding = 2 * stream_count(); outstanding > 0; --outstanding) {
    TRY_ASSIGN(const Completed completed, next_completion(deadline));
    if (!completed.good) return why_broken(*completed.ps);
    if (completed.operation == Ps::Operation::received) TRY(receive(*completed.ps));
  }
  for (const auto& ps : ps_) {
    if (ps->lane) TRY(receive_shared(*ps, deadline));
  }
  usable_ = true;
  Pulled pulled = ps_.front()->pulled;
  for (const auto& ps : ps_) {
    pulled.oldest = std::min(pulled.oldest, ps->version);
    pulled.newest = std::max(pulled.newest, ps->version);
    pulled.rank_step = std::min(pulled.rank_step, ps->pulled.rank_step);
    pulled.rank_step_max = std::max(pulled.rank_step_max, ps->pulled.rank_step);
    pulled.asked_snapshot = std::max(pulled.asked_snapshot, ps->pulled.asked_snapshot);
    pulled.times.apply = std::max(pulled.times.apply, ps->pulled.times.apply);
  }
  pulled.times.pull = assembling_;
  pulled.traffic = std::exchange(traffic_, {});
  return pulled;
}

Status RemoteParams::receive(Ps& ps) {
  auto frame = decode_pull(ps.incoming);
  ps.incoming.Clear();
  if (!frame.has_value()) return ps.explain(frame.error());
  if (frame->header.encoding() != ps.wanted) {
    return ps.explain(invalid("answered in " +
                              std::string(encoding_name(frame->header.encoding())) + ", not " +
                              std::string(encoding_name(ps.wanted))));
  }
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

Status RemoteParams::receive_shared(Ps& ps, WallClock::time_point deadline) {
  auto received = ps.lane->receive(deadline, options_.stop);
  if (!received.has_value() && options_.stop.stop_requested()) return received.error();
  if (!received.has_value()) return ps.explain(received.error());
  ps.note(received->header);
  const auto bytes =
      std::as_bytes(received->parameters)
          .first(static_cast<std::size_t>(gradient_bytes(wire_of(ps.wanted), ps.share)));
  if (ps_.size() == 1 && ps.wanted == proto::FLOAT32) {
    traffic_.received += std::ssize(bytes);
    ps.pulled.parameters = received->parameters;
    return ok();
  }
  take(ps, {.pieces = {bytes}, .owner = nullptr});
  return ok();
}

}  // namespace trainyard::runtime
