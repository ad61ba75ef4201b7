// Opens a data set by its format: a plain switch.
#include "runtime/data/dataset.h"

#include "runtime/data/csv.h"
#include "runtime/data/idx.h"
#include "runtime/data/libsvm.h"
#include "runtime/data/synthetic_digits.h"

namespace trainyard::runtime {
namespace {

// 784 bytes each: beyond this, images do not fit into memory.
constexpr std::int64_t synthetic_examples_max = 10'000'000;

Result<std::unique_ptr<Dataset>> open_synthetic(const DatasetSpec& spec, std::uint64_t seed) {
  if (spec.train_examples < 1 || spec.train_examples > synthetic_examples_max) {
    return invalid("dataset.train_examples must be 1 to 10000000 for synthetic_digits, got " +
                   std::to_string(spec.train_examples));
  }
  if (spec.test_examples < 1 || spec.test_examples > synthetic_examples_max) {
    return invalid("dataset.test_examples must be 1 to 10000000 for synthetic_digits, got " +
                   std::to_string(spec.test_examples));
  }
  return make_synthetic_digits(seed, {spec.train_examples, spec.test_examples});
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const DatasetSpec& spec, std::uint64_t seed) {
  if (spec.format == "synthetic_digits") return open_synthetic(spec, seed);
  if (spec.format == "idx") return open_idx(spec);
  if (spec.format == "csv") return open_csv(spec, seed);
  if (spec.format == "libsvm") return open_libsvm(spec, seed);
  return invalid("dataset.format: no format is called \"" + spec.format +
                 "\" (synthetic_digits, idx, csv, libsvm)");
}

}  // namespace trainyard::runtime
