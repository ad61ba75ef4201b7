// What callers of the service Rows ask of a ps' RowStore: messages as bytes in, messages as bytes
// out. It checks what they say, refuses who is of an earlier process, and keeps of each rank the
// last batch whose rows it has given out for gradients to come. Who holds the gang's token is for
// others to see to. One thread at a time calls it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/math/sparse_rows.h"
#include "runtime/net/rows/row_data.h"
#include "runtime/net/rows/row_store.h"
#include "schemas/base/result.h"
#include "schemas/proto/rows.pb.h"

namespace trainyard::runtime {

class RowRequests {
 public:
  using Reply = std::function<void(Result<grpc::ByteBuffer>)>;

  explicit RowRequests(RowStore store);

  // Each is answered once, now or in a later call of this or the store.
  void read(const grpc::ByteBuffer& message, const Reply& reply);
  void push(const grpc::ByteBuffer& message, const Reply& reply);

  [[nodiscard]] RowStore& store() { return store_; }

 private:
  // Async: gradients are of its rows, or of its bags.
  struct Batch {
    std::int64_t process = 0;
    std::int64_t number = 0;
    std::vector<std::int64_t> ids;
    SparseRows bags{};  // whose columns are places in `ids`; no offsets: none

    [[nodiscard]] bool is_pooled() const { return !bags.offsets.empty(); }
  };
  using BatchPtr = std::shared_ptr<const Batch>;  // a reply reads it, too

  Status admit(std::int64_t rank, std::int64_t process);
  Status try_read(const grpc::ByteBuffer& message, const Reply& reply);
  Status try_push(const grpc::ByteBuffer& message);
  [[nodiscard]] Result<BatchPtr> batch_of(const proto::RowRequest& about, RowData data) const;
  [[nodiscard]] Result<std::vector<RowGradients>> parts_of_push(const proto::RowPush& about,
                                                                const Payload& payload) const;
  [[nodiscard]] Result<RowGradients> part_of_batch(const proto::RowPush& about,
                                                   std::vector<float> gradients) const;

  RowStore store_;
  std::vector<std::int64_t> processes_;  // by rank: the newest
  std::vector<BatchPtr> batches_;        // by rank: the last; none: nullptr
};

}  // namespace trainyard::runtime
