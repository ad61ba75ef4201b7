// How channels between workers and ps are set up, on both ends alike.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>

namespace trainyard::runtime {

// `tensor_bytes` of the largest frame: it, and nothing larger, fits a message.
void configure_server(grpc::ServerBuilder& builder, std::int64_t tensor_bytes);
// What a message can hold at all.
constexpr std::int64_t message_tensor_bytes_max = 1'990'000'000;
grpc::ChannelArguments channel_arguments(std::int64_t tensor_bytes);

}  // namespace trainyard::runtime
