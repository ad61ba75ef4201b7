#include "tests/fuzz/data_files.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "schemas/base/check.h"

namespace trainyard::fuzz {

using runtime::Batch, runtime::Dataset, runtime::DataShape, runtime::Split;

DataFolder::DataFolder() : TempFolder(std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") {}

namespace {

void read_batch(const Dataset& data, Split split) {
  const DataShape& shape = data.shape();
  std::vector<std::int64_t> indices(
      static_cast<std::size_t>(std::min<std::int64_t>(data.size(split), 64)));
  std::iota(indices.begin(), indices.end(), 0);
  Batch batch;
  // A file may turn out to be bad only now.
  if (const Status status = data.read({split, indices}, batch); !status) {
    ENSURE(!status.error().message.empty());
    return;
  }
  ENSURE(batch.examples == std::ssize(indices));
  for (const std::int32_t label : batch.labels) ENSURE(label >= 0 && label < shape.classes);
  for (const std::int32_t column : batch.sparse.columns) {
    ENSURE(column >= 0 && column < shape.features);
  }
  std::int64_t ids = shape.vocabulary;
  for (const runtime::IdFieldShape& field : shape.id_fields) ids = std::max(ids, field.ids);
  for (const std::int32_t id : batch.ids) ENSURE(id >= 0 && id < ids);
  for (const std::int32_t id : batch.token_labels) ENSURE(id >= 0 && id < shape.vocabulary);
  for (const std::int32_t symbol : batch.symbols) ENSURE(symbol > 0 && symbol < shape.symbols);
  for (const std::int32_t length : batch.lengths) {
    ENSURE(length >= 1 && length <= shape.example.front());
  }
}

}  // namespace

void read_all(const DatasetSpec& spec) {
  const auto opened = runtime::open_dataset(spec, 42);
  if (!opened) {
    ENSURE(!opened.error().message.empty());
    return;
  }
  for (const Split split : {Split::train, Split::test}) {
    if ((*opened)->size(split) == 0 || !(*opened)->prepare(split)) continue;
    read_batch(**opened, split);
  }
}

}  // namespace trainyard::fuzz
