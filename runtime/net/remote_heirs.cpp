// Gradients for ranks that are not there: seldom, and while the stream waits for its step, so they
// go by calls of their own, whatever the transport.
#include <utility>
#include <vector>

#include "runtime/net/channel_options.h"
#include "runtime/net/frame.h"
#include "runtime/net/remote_ps.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

Status RemoteParams::inherit(std::int64_t rank, const Contribution& contribution) {
  ENSURE(options_.wire != Wire::onebit && contribution.sums.examples > 0);
  const std::span<const float> gradient = contribution.gradient->span();
  const std::int64_t parts = std::ssize(gradient) / options_.arena_elements;
  std::optional<GradientEncoder> encoder;  // this worker's own push still lies in encoder_
  if (encoder_) {
    const auto floats =
        static_cast<std::size_t>(push_memory_floats(options_.wire, options_.arena_elements, parts));
    encoder.emplace(
        GradientEncoder::Shape{
            .wire = options_.wire, .arena_elements = options_.arena_elements, .parts = parts},
        AlignedBuffer(floats));
    encoder->encode(gradient, 1);
  }
  if (heir_peers_.empty()) {
    std::vector<RawPeer> peers;
    for (const auto& ps : ps_) {
      auto channel = grpc::CreateCustomChannel(ps->address, grpc::InsecureChannelCredentials(),
                                               channel_arguments(message_tensor_bytes_max));
      // A call would not wait for it.
      Patience patience = patience_for(options_.connect_limit);
      while (!channel->WaitForConnected(WallClock::now() + kLookUp)) TRY(keep_waiting(patience));
      peers.push_back({std::move(channel), ps->name()});
    }
    heir_peers_ = std::move(peers);
  }
  std::vector<grpc::ByteBuffer> requests;
  for (const auto& ps : ps_) {
    proto::PushFrame header;
    header.set_token(options_.token);
    header.set_rank(rank);
    header.set_step(contribution.step);
    header.set_base_version(contribution.step - 1);
    header.set_examples(contribution.sums.examples);
    header.set_loss_sum(contribution.sums.loss_sum);
    header.set_correct(contribution.sums.correct);
    header.set_encoding(gradient_encoding(options_.wire));
    Payload payload = encoder ? encoder->payload(ps->share, WithResiduals::no)
                              : payload_of(gradient, options_.arena_elements, ps->share);
    if (!encoder) payload.owner = contribution.gradient;
    traffic_.sent += payload.bytes();
    requests.push_back(encode_frame(header, payload));
  }
  TRY(call_each(
      "/trainyard.proto.Params/Inherit", heir_peers_, requests,
      {.deadline = options_.exchange_limit, .token = options_.token, .stop = options_.stop}));
  return ok();
}

}  // namespace trainyard::runtime
