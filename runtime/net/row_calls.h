// A worker's calls for the rows of an embedding table: one to each ps that holds some of them, all
// at once. One thread uses it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/params_channel.h"
#include "runtime/net/raw_calls.h"
#include "runtime/net/row_frame.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class RowCalls {
 public:
  struct Options {
    std::string token;
    std::int64_t rank = 0;
    std::int64_t width = 0;
    RawCallLimits limits;  // of one round of calls
  };

  // By ps.
  RowCalls(std::vector<RawPeer> ps, Options options);

  // rows [ids, width] of distinct ids. Both say what went over the wire.
  Result<Traffic> read(std::span<const std::int64_t> ids, std::span<float> rows);
  // One gradient for each part; each ps gets its rows of all parts, and a call even where it has
  // none, since it waits for every rank's.
  Result<Traffic> push(std::int64_t step, std::vector<RowGradients> parts);

 private:
  enum class Method { read, push };

  [[nodiscard]] proto::RowFrame header(std::int64_t step) const;
  // requests[i] is for ps i; none where it is empty. The replies, in the same order.
  Result<std::vector<RowMessage>> exchange(Method method,
                                           const std::vector<grpc::ByteBuffer>& requests);

  std::vector<RawPeer> ps_;
  Options options_;
};

}  // namespace trainyard::runtime
