// A worker's calls for the rows of an embedding table: one to each ps that holds some of them, all
// at once. A ps takes nothing twice, so a call that a broken connection has ended is made again.
// One thread uses it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/core/exchange_words.h"
#include "runtime/core/row_layout.h"
#include "runtime/math/rows/bag_shares.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/raw_calls.h"
#include "runtime/net/rows/row_data.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class RowClient {
 public:
  struct Server {
    std::string address;       // "10.0.0.1:20001"
    std::string local_socket;  // as in RowServer::Options; tried first where it is on this host
  };
  struct Options {
    std::vector<Server> servers;  // by ps
    std::string token;
    std::int64_t rank = 0;
    std::int64_t process = 1;  // of the rank: later ones have greater numbers
    RowWidths widths{};
    // How long a round of calls may take, a ps that is away or rows that others have yet to make
    // included.
    std::chrono::milliseconds limit{300'000};
    std::stop_token stop;
  };
  // Waits until all ps are there. `unavailable` after the limit, or where it is asked to stop.
  static Result<std::unique_ptr<RowClient>> connect(Options options);

  // What went in vain is not counted as traffic.
  //
  // Sync: the rows of just this version, of distinct ids, one after another. It is the one that the
  // rank's next push follows, or the one before: it waits until all ps have made it. Nothing, and
  // in async: the newest.
  Result<Traffic> read(std::optional<std::int64_t> version, std::span<const std::int64_t> ids,
                       std::span<float> rows);

  struct Push {
    std::int64_t step = 0;
    std::int64_t snapshot = 0;  // as in RowStore::Push
  };
  // One gradient for each of the rank's parts. Every ps has its share of them when this returns;
  // of a ps that has it already, as of an earlier process, it changes nothing.
  Result<Traffic> push(const Push& push, std::vector<RowGradients> parts);

  struct BagsRead {
    PooledBags bags;
    Traffic traffic;
  };
  // Async, of one table, in place of the two above: from each ps its rows of a batch or their sums
  // by example, whichever is fewer bytes, and gradients of the vectors that came, in the same
  // order. Ids go once. After push_bags() the next is of another batch.
  Result<BagsRead> read_bags(const BagView& batch);
  Result<Traffic> push_bags(const Push& push, std::span<const float> gradients);

 private:
  enum class Method { read, push };
  struct Request {
    grpc::ByteBuffer message;  // empty: nothing is asked of this ps
    std::int64_t bytes = 0;    // of its data
    std::int64_t floats = 0;   // that are to come
  };
  struct Answers {
    std::vector<std::vector<float>> floats;  // by ps
    Traffic traffic;
  };

  RowClient(Options options, std::vector<RawPeer> ps);
  [[nodiscard]] Result<Answers> call(Method method, const std::vector<Request>& requests) const;
  [[nodiscard]] Result<std::vector<grpc::ByteBuffer>> call_until_answered(
      Method method, const std::vector<grpc::ByteBuffer>& messages) const;
  [[nodiscard]] Result<Request> request_of(const google::protobuf::MessageLite& header,
                                           RowData data, std::int64_t floats) const;

  Options options_;
  std::vector<RawPeer> ps_;
  std::int64_t batch_ = 0;        // number of the newest
  std::vector<BagShare> shares_;  // of that one, by ps
};

}  // namespace trainyard::runtime
