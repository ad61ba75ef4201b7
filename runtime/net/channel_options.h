// How channels between workers and ps are set up, on both ends alike.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>

namespace trainyard::runtime {

// `tensor_bytes` of the largest frame: it, and nothing larger, fits a message.
void configure_server(grpc::ServerBuilder& builder, std::int64_t tensor_bytes);
// For a channel whose frames only the server bounds.
constexpr std::int64_t any_tensor_bytes = std::int64_t{1} << 40;
grpc::ChannelArguments channel_arguments(std::int64_t tensor_bytes);

}  // namespace trainyard::runtime
