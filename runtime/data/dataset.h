// Data sets: random access to examples, train and test split.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/data_cache.h"
#include "runtime/math/sparse_rows.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

enum class Split { train, test };

// How a data set gives what an example has.
enum class FeatureLayout {
  dense,     // every feature
  sparse,    // those that are there
  sequence,  // {time, numbers of a time step}, with as many steps as the example's length says
  ids,       // {time}: whole numbers below `vocabulary`, as many as the example's length says
  columns,   // numbers and fields of ids
};

enum class LabelLayout {
  one,      // a class or a real target
  symbols,  // any number of symbols (a text)
  tokens,   // an id for each of the example's
  none,
};

// Of layout columns.
struct IdFieldShape {
  std::string name;
  std::vector<std::int64_t> example;  // {}: one id; {columns}
  std::int64_t ids = 0;               // they are below this
  bool operator==(const IdFieldShape&) const = default;
};

struct DataShape {
  std::vector<std::int64_t> example;  // an image's is {height, width, channels}
  std::int64_t features = 0;          // product of `example`
  std::int64_t classes = 0;           // labels `one`: 0 = regression, one real target
  FeatureLayout layout = FeatureLayout::dense;
  LabelLayout labels = LabelLayout::one;
  std::int64_t vocabulary = 0;  // layout ids
  // Layout ids: how many ids of an example a batch may have, ascending, the last is `features`.
  // None: always so many.
  std::vector<std::int64_t> buckets{};
  std::int64_t symbols = 0;  // labels symbols: how many, with the blank, which is 0
  // Layout columns: `features` are its numbers, perhaps none. The last of them are fields of one
  // number each, the others together are the field "numeric".
  std::vector<IdFieldShape> id_fields{};
  std::vector<std::string> log_frequency_fields{};
  // Where the data have names for them: of each class, as it is there, in any encoding.
  std::vector<std::string> class_names{};
  bool operator==(const DataShape&) const = default;
};

// A batch in memory of its own. What its shape does not have is empty: features (dense, sequence)
// are row-major [examples x features], sparse ones are in `sparse`, a row for each example, ids
// [examples x time], of several fields (columns) one field after another. Classification labels are
// class numbers 0 .. classes - 1 in `labels`, regression targets are in `targets`, of one number an
// example both.
struct Batch {
  std::int64_t examples = 0;
  // Of the first example in the endless line of training examples (runtime/core/sampler.h); the
  // others follow it. What is drawn for an example (dropout) is a function of its position. 0 of a
  // test split's batches.
  std::uint64_t first_position = 0;
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  SparseRows sparse{};
  // Layouts sequence and ids: 1 .. time, one an example. Beyond it features and ids are 0.
  std::vector<std::int32_t> lengths{};
  std::vector<std::int32_t> ids{};  // [examples x time]: time is the smallest bucket that holds all
  std::vector<std::int32_t> token_labels{};  // [examples x time]: the id that follows each
  // Of example i those from symbol_offsets[i] to symbol_offsets[i + 1], each 1 .. symbols - 1.
  std::vector<std::int32_t> symbols{};
  std::vector<std::int32_t> symbol_offsets{};
};

// Which examples are read: of the split those of these indices, in this order. Training examples
// are augmented by their positions: indices[i] is at first_position + i.
struct Selection {
  Split split = Split::train;
  std::span<const std::int64_t> indices;
  std::uint64_t first_position = 0;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual const DataShape& shape() const = 0;
  [[nodiscard]] virtual std::int64_t size(Split split) const = 0;
  // What ids are of, where they are counted from the data: a text's words in UTF-8, a line each,
  // the first of id 0; of columns the lines of recsys_vocabulary.h. Else "". Lives as long as this.
  [[nodiscard]] virtual std::string_view words() const { return ""; }
  // Reads what read() needs of the split, where that was not needed for shape() and size(). May
  // take long the first time. Not while another thread reads from the same split.
  [[nodiscard]] virtual Status prepare(Split) const { return ok(); }
  // Fills `batch` (buffers are reused) with the examples that are selected, of a split that was
  // prepared. `invalid` where a file of them cannot be read now, and says which. Thread-safe.
  [[nodiscard]] Status read(const Selection& selection, Batch& batch) const {
    batch.examples = std::ssize(selection.indices);
    batch.first_position = selection.first_position;
    return fill(selection, batch);
  }

 private:
  // All of the batch but for its number of examples and its position.
  [[nodiscard]] virtual Status fill(const Selection& selection, Batch& batch) const = 0;
};

// Knows the shape, and no more than that needs: headers and labels of IDX, of CSV and LibSVM all.
// `invalid` or `not_found` with a message that names the file and what is wrong with it.
// `threads` is how many may decode files at a time. `label_steps` is how many time steps the scores
// of the model have that labels of symbols must fit into; 0: that is not known, and they are not
// held against it.
Result<std::unique_ptr<Dataset>> open_dataset(const DatasetSpec& spec, std::uint64_t seed,
                                              const DataCache& cache = DataCache(),
                                              std::int64_t threads = 1,
                                              std::int64_t label_steps = 0);

// What every task of a job has to know of its data, and a ps no more than that.
struct DatasetShape {
  DataShape example;
  std::int64_t train_examples = 0;
  std::string words_sha256{};  // of Dataset::words(); "" where there are none
  bool operator==(const DatasetShape&) const = default;
};
DatasetShape shape_of(const Dataset& dataset);

// Whether the number of training examples is asked for, as it is where epochs are counted.
enum class ExampleCount { needed, unneeded };
// The same without reading what can be known without: of a LibSVM file whose `features` the spec
// tells nothing is read where `count` is not needed; train_examples is 0 then.
Result<DatasetShape> read_shape(const DatasetSpec& spec, std::uint64_t seed, ExampleCount count,
                                const DataCache& cache = DataCache(), std::int64_t label_steps = 0);

}  // namespace trainyard::runtime
