// Opens a data set by its format: a plain switch.
#include "runtime/data/dataset.h"

#include "runtime/data/cifar.h"
#include "runtime/data/csv.h"
#include "runtime/data/idx.h"
#include "runtime/data/image_folder.h"
#include "runtime/data/image_lines.h"
#include "runtime/data/libsvm.h"
#include "runtime/data/recsys.h"
#include "runtime/data/sequences.h"
#include "runtime/data/synthetic_digits.h"
#include "runtime/data/synthetic_lines.h"
#include "runtime/data/text.h"
#include "runtime/data/tokens.h"
#include "schemas/files/sha256.h"

namespace trainyard::runtime {
Result<std::unique_ptr<Dataset>> open_dataset(const DatasetSpec& spec, std::uint64_t seed,
                                              const DataCache& cache, std::int64_t threads,
                                              std::int64_t label_steps) {
  if (spec.format == "synthetic_digits") return open_synthetic_digits(spec, seed, cache);
  if (spec.format == "idx") return open_idx(spec, seed, cache);
  if (spec.format == "cifar") return open_cifar(spec, seed, cache);
  if (spec.format == "image_folder") return open_image_folder(spec, seed, {cache, threads});
  if (spec.format == "csv") return open_csv(spec, seed, cache);
  if (spec.format == "libsvm") return open_libsvm(spec, seed, cache);
  if (spec.format == "recsys") return open_recsys(spec, seed, cache);
  if (spec.format == "text") return open_text(spec, seed, cache);
  if (spec.format == "tokens") return open_tokens(spec, cache);
  if (spec.format == "sequences") return open_sequences(spec, seed, cache);
  if (spec.format == "image_lines") {
    return open_image_lines(spec, seed, {.files = {cache, threads}, .label_steps = label_steps});
  }
  if (spec.format == "synthetic_lines") return open_synthetic_lines(spec, seed, label_steps);
  return invalid("dataset.format: no format is called \"" + spec.format +
                 "\" (synthetic_digits, idx, cifar, image_folder, csv, libsvm, text, tokens, "
                 "sequences, image_lines, synthetic_lines, recsys)");
}

DatasetShape shape_of(const Dataset& dataset) {
  const std::string_view words = dataset.words();
  return {.example = dataset.shape(),
          .train_examples = dataset.size(Split::train),
          .words_sha256 = words.empty() ? "" : sha256_hex(words)};
}

Result<DatasetShape> read_shape(const DatasetSpec& spec, std::uint64_t seed, ExampleCount count,
                                const DataCache& cache, std::int64_t label_steps) {
  if (spec.format == "libsvm" && spec.features > 0 && count == ExampleCount::unneeded) {
    return DatasetShape{.example = libsvm_shape(spec.features)};
  }
  TRY_ASSIGN(const auto dataset, open_dataset(spec, seed, cache, 1, label_steps));
  return shape_of(*dataset);
}

}  // namespace trainyard::runtime
