// Data sets: random access to examples, train and test split.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/math/sparse_rows.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

enum class Split { train, test };

// How a data set gives its features: every one, or those that are there.
enum class FeatureLayout { dense, sparse };

struct DataShape {
  std::vector<std::int64_t> example;  // {28, 28}
  std::int64_t features = 0;          // product of `example`
  std::int64_t classes = 0;           // 0 = regression: one real target
  FeatureLayout layout = FeatureLayout::dense;
  bool operator==(const DataShape&) const = default;
};

// A batch in memory of its own. Dense features are row-major [examples x features]; sparse ones are
// in `sparse`, a row for each example; the other of the two is empty. Classification labels are
// class numbers 0 .. classes - 1 in `labels`, regression targets are in `targets`; the other of the
// two is empty.
struct Batch {
  std::int64_t examples = 0;
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  SparseRows sparse{};
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual const DataShape& shape() const = 0;
  [[nodiscard]] virtual std::int64_t size(Split split) const = 0;
  // Fills `batch` (buffers are reused) with the examples of these indices, in this order.
  // Thread-safe.
  virtual void read(Split split, std::span<const std::int64_t> indices, Batch& batch) const = 0;
};

// `invalid` or `not_found` with a message that names the file and what is wrong with it.
Result<std::unique_ptr<Dataset>> open_dataset(const DatasetSpec& spec, std::uint64_t seed);

}  // namespace trainyard::runtime
