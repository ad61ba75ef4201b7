#include "runtime/data/window_set.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

WindowSet::WindowSet(DataShape shape, TokenFiles files, const WindowSplit& split)
    : shape_(std::move(shape)), files_(std::move(files)), split_(split) {
  std::int64_t windows = 0;
  for (const std::int64_t tokens : files_.tokens) {
    first_windows_.push_back(windows);
    windows += windows_of(tokens, shape_.features);
  }
  ENSURE(split_.train <= split_.test_first && split_.test_first + split_.test <= windows);
}

std::int64_t WindowSet::size(Split split) const {
  return split == Split::train ? split_.train : split_.test;
}

Status WindowSet::read_window(std::int64_t window, std::span<std::int32_t> to) const {
  const auto behind = std::ranges::upper_bound(first_windows_, window);  // files may have none
  const auto file = static_cast<std::size_t>(behind - first_windows_.begin() - 1);
  return files_.read(file, (window - first_windows_[file]) * shape_.features, to);
}

Status WindowSet::fill(const Selection& selection, Batch& batch) const {
  const auto& indices = selection.indices;
  const auto length = static_cast<std::size_t>(shape_.features);
  batch.ids.resize(indices.size() * length);
  batch.token_labels.resize(indices.size() * length);
  batch.lengths.assign(indices.size(), static_cast<std::int32_t>(length));
  std::vector<std::int32_t> tokens(length + 1);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ENSURE(indices[i] >= 0 && indices[i] < size(selection.split));
    const std::int64_t first = selection.split == Split::train ? 0 : split_.test_first;
    TRY(read_window(first + indices[i], tokens));
    const auto place = static_cast<std::ptrdiff_t>(i * length);
    std::copy(tokens.begin(), tokens.end() - 1, batch.ids.begin() + place);
    std::copy(tokens.begin() + 1, tokens.end(), batch.token_labels.begin() + place);
  }
  return ok();
}

}  // namespace trainyard::runtime
