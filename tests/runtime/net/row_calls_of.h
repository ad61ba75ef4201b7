// The calls for rows of a gang's rank 0 to its first ps, without the rest of a worker.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>

#include "runtime/net/row_calls.h"
#include "tests/runtime/net/gang.h"

namespace trainyard::runtime::test {

// Of the rank's process with that number.
inline RowCalls row_calls_of(const Gang& gang, std::int64_t process) {
  return {{{grpc::CreateChannel(gang.addresses()[0], grpc::InsecureChannelCredentials()), "ps/0"}},
          {.token = "token",
           .rank = 0,
           .width = gang.spec().row_width,
           .process = process,
           .deadline = std::chrono::seconds(20),
           .stop = {}}};
}

}  // namespace trainyard::runtime::test
