// How channels between workers and ps are set up, on both ends alike.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>

namespace trainyard::runtime {

// `elements` of a share: one frame of it, and nothing larger, fits a message.
void configure_server(grpc::ServerBuilder& builder, std::int64_t elements);
grpc::ChannelArguments channel_arguments(std::int64_t elements);

}  // namespace trainyard::runtime
