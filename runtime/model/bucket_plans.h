// A plan for each length that a batch may have, over one arena of parameters and one of
// intermediate values: a batch of short examples costs what it has, not what the longest would.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/graph/executor.h"
#include "runtime/model/build.h"

namespace trainyard::runtime {

class BucketPlans {
 public:
  // As build_bucket_graphs() gives them; the graphs are taken. The plans are for batches of up to
  // `batch_size` examples, computed by the device, or by these threads if there is none. Throws
  // DeviceFailed where the device has too little memory for it.
  BucketPlans(std::vector<BuiltModel> built, std::int64_t batch_size, const Threads& threads,
              Device* device = nullptr);

  [[nodiscard]] const Graph& graph() const { return executors_.front().graph(); }  // of the longest
  // Of the device; null: there is none.
  [[nodiscard]] const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  // Which runs the batch. A batch of a length that is none of them is the caller's mistake.
  Executor& of(const Batch& batch);
  // Of one of its examples, as BuiltModel has it.
  [[nodiscard]] std::int64_t step_flops(const Batch& batch) const;

 private:
  [[nodiscard]] std::size_t index_of(const Batch& batch) const;

  std::shared_ptr<DeviceMemory> memory_;
  std::vector<std::int64_t> step_flops_;  // by executor
  std::vector<std::int64_t> lengths_;     // by executor; one that reads no ids has any
  std::vector<Executor> executors_;       // the longest first, whose memory the others use
};

}  // namespace trainyard::runtime
