// Few options on purpose: on loopback none of gRPC's others made a difference that could be told
// from noise.
#include "runtime/net/channel_options.h"

#include <grpc/grpc.h>

#include <algorithm>

namespace trainyard::runtime {
namespace {

// A peer whose host is gone is noticed within half a minute. The timeout is long because a worker
// in the middle of a long gradient answers pings only every few seconds.
constexpr int kKeepaliveMillis = 10'000;
constexpr int kKeepaliveTimeoutMillis = 20'000;
constexpr int kPingIntervalMinMillis = 5'000;

// A connection that does not say that it speaks HTTP/2.
constexpr int kHandshakeMillis = 10'000;

// Tasks of a gang start together, in any order: a ps that is not up yet will be soon.
constexpr int kReconnectFirstMillis = 50;
constexpr int kReconnectLastMillis = 500;
// A host that is far away, or has much to do, takes its time to answer.
constexpr int kConnectMillis = 20'000;

// What a message may need besides its tensor.
constexpr int kFrameHeaderBytesMax = 4096;

int message_bytes_max(std::int64_t tensor_bytes) {
  return static_cast<int>(std::min(tensor_bytes, message_tensor_bytes_max) + kFrameHeaderBytesMax);
}

// A receiver lets several frames of the share come before it grants more: with a window of about
// one frame, or HTTP/2's 64 KiB, a message waits half-way for window updates (seen with strace).
// This is the stream's window; the connection's follows gRPC's own estimate (BDP probe), which must
// stay on: without it that one stays at 64 KiB.
int window_bytes(std::int64_t tensor_bytes) {
  constexpr std::int64_t kWindowMin = 1 << 20;
  constexpr std::int64_t kWindowMax = 1 << 30;
  return static_cast<int>(
      std::clamp(std::int64_t{4} * message_bytes_max(tensor_bytes), kWindowMin, kWindowMax));
}
constexpr int kFrameBytesMax = 4 << 20;

}  // namespace

void configure_server(grpc::ServerBuilder& builder, std::int64_t tensor_bytes) {
  builder.SetMaxReceiveMessageSize(message_bytes_max(tensor_bytes));
  builder.SetMaxSendMessageSize(message_bytes_max(tensor_bytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window_bytes(tensor_bytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytesMax);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kPingIntervalMinMillis);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error, not a share
}

grpc::ChannelArguments channel_arguments(std::int64_t tensor_bytes) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(message_bytes_max(tensor_bytes));
  arguments.SetMaxSendMessageSize(message_bytes_max(tensor_bytes));
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window_bytes(tensor_bytes));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMillis);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMillis);  // of one attempt
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectLastMillis);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // a push is never sent twice behind our back
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace trainyard::runtime
