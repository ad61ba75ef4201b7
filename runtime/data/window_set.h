// Windows of a stream of tokens, each with the tokens that follow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// Tokens in several files; no window goes over a file's end.
struct TokenFiles {
  // Reads to.size() ids of the file, from its `first`-th. Thread-safe.
  using Read =
      std::function<Status(std::size_t file, std::int64_t first, std::span<std::int32_t> to)>;

  std::vector<std::int64_t> tokens;  // of each file
  Read read;                         // every id is below the vocabulary
};

// Window w of a file has its tokens from w · length on, and one more for the last label.
constexpr std::int64_t windows_of(std::int64_t tokens, std::int64_t length) {
  return tokens < 1 ? 0 : (tokens - 1) / length;
}

struct WindowSplit {
  std::int64_t train = 0;       // from the first window on
  std::int64_t test_first = 0;  // and behind those for training
  std::int64_t test = 0;
};

class WindowSet final : public Dataset {
 public:
  WindowSet(DataShape shape, TokenFiles files, const WindowSplit& split);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  [[nodiscard]] Status read_window(std::int64_t window, std::span<std::int32_t> to) const;

  DataShape shape_;
  TokenFiles files_;
  WindowSplit split_;
  std::vector<std::int64_t> first_windows_;  // of each file
};

}  // namespace trainyard::runtime
