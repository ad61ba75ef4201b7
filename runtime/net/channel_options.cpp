// Few options on purpose: on loopback none of gRPC's others made a difference that could be told
// from noise.
#include "runtime/net/channel_options.h"

#include <grpc/grpc.h>

#include <algorithm>

namespace trainyard::runtime {
namespace {

// A peer whose host is gone is noticed within half a minute. The timeout is long because a worker
// in the middle of a long gradient answers pings only every few seconds.
constexpr int keepalive_millis = 10'000;
constexpr int keepalive_timeout_millis = 20'000;
constexpr int ping_interval_min_millis = 5'000;

// A connection that does not say that it speaks HTTP/2.
constexpr int handshake_millis = 10'000;

// Tasks of a gang start together, in any order: a ps that is not up yet will be soon.
constexpr int reconnect_first_millis = 50;
constexpr int reconnect_last_millis = 500;
// A host that is far away, or has much to do, takes its time to answer.
constexpr int connect_millis = 20'000;

// What a message may need besides its tensor.
constexpr int http2_header_bytes_max = 4096;

int message_bytes_max(std::int64_t tensor_bytes) {
  return static_cast<int>(std::min(tensor_bytes, message_tensor_bytes_max) +
                          http2_header_bytes_max);
}

// A receiver lets several frames of the share come before it grants more: with a window of about
// one frame, or HTTP/2's 64 KiB, a message waits half-way for window updates (seen with strace).
// This is the stream's window; the connection's follows gRPC's own estimate (BDP probe), which must
// stay on: without it that one stays at 64 KiB.
int window_bytes(std::int64_t tensor_bytes) {
  constexpr std::int64_t window_min = 1 << 20;
  constexpr std::int64_t window_max = 1 << 30;
  return static_cast<int>(
      std::clamp(std::int64_t{4} * message_bytes_max(tensor_bytes), window_min, window_max));
}
constexpr int http2_frame_bytes_max = 4 << 20;

}  // namespace

void configure_server(grpc::ServerBuilder& builder, std::int64_t tensor_bytes) {
  builder.SetMaxReceiveMessageSize(message_bytes_max(tensor_bytes));
  builder.SetMaxSendMessageSize(message_bytes_max(tensor_bytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window_bytes(tensor_bytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, http2_frame_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_millis);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_timeout_millis);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             ping_interval_min_millis);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, handshake_millis);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error, not a share
}

grpc::ChannelArguments channel_arguments(std::int64_t tensor_bytes) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(message_bytes_max(tensor_bytes));
  arguments.SetMaxSendMessageSize(message_bytes_max(tensor_bytes));
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window_bytes(tensor_bytes));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, http2_frame_bytes_max);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_millis);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_timeout_millis);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, reconnect_first_millis);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, connect_millis);  // of one attempt
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, reconnect_last_millis);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // a push is never sent twice behind our back
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace trainyard::runtime
