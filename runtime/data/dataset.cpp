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

Result<std::unique_ptr<Dataset>> open_synthetic(const DatasetSpec& spec, std::uint64_t seed,
                                                const DataCache& cache) {
  if (spec.train_examples < 1 || spec.train_examples > synthetic_examples_max) {
    return invalid("dataset.train_examples must be 1 to 10000000 for synthetic_digits, got " +
                   std::to_string(spec.train_examples));
  }
  if (spec.test_examples < 1 || spec.test_examples > synthetic_examples_max) {
    return invalid("dataset.test_examples must be 1 to 10000000 for synthetic_digits, got " +
                   std::to_string(spec.test_examples));
  }
  return make_synthetic_digits(seed, {spec.train_examples, spec.test_examples}, cache);
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const DatasetSpec& spec, std::uint64_t seed,
                                              const DataCache& cache) {
  if (spec.format == "synthetic_digits") return open_synthetic(spec, seed, cache);
  if (spec.format == "idx") return open_idx(spec, cache);
  if (spec.format == "csv") return open_csv(spec, seed, cache);
  if (spec.format == "libsvm") return open_libsvm(spec, seed, cache);
  return invalid("dataset.format: no format is called \"" + spec.format +
                 "\" (synthetic_digits, idx, csv, libsvm)");
}

DatasetShape shape_of(const Dataset& dataset) {
  return {.example = dataset.shape(), .train_examples = dataset.size(Split::train)};
}

Result<DatasetShape> read_shape(const DatasetSpec& spec, std::uint64_t seed, ExampleCount count,
                                const DataCache& cache) {
  if (spec.format == "libsvm" && spec.features > 0 && count == ExampleCount::unneeded) {
    return DatasetShape{.example = libsvm_shape(spec.features)};
  }
  TRY_ASSIGN(const auto dataset, open_dataset(spec, seed, cache));
  return shape_of(*dataset);
}

}  // namespace trainyard::runtime
