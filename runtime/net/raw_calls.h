// Unary calls of a method that is encoded by hand, to several ps at once.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::runtime {

struct RawPeer {
  std::shared_ptr<grpc::Channel> channel;
  std::string name;  // what errors call it
};

struct RawCallTerms {
  std::chrono::milliseconds deadline;  // for all of them together
  std::string token;                   // of the gang
  std::stop_token stop;                // cancels them
};

// requests[i] is for ps[i]; none where it is empty, and then its reply is. The first error, in the
// order of the ps; `path` is "/package.Service/Method".
Result<std::vector<grpc::ByteBuffer>> call_each(const char* path, const std::vector<RawPeer>& ps,
                                                const std::vector<grpc::ByteBuffer>& requests,
                                                const RawCallTerms& terms);

}  // namespace trainyard::runtime
