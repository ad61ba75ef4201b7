// Texts as lists of symbols: numbers of an alphabet's characters from 1; 0 is CTC's blank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

class Alphabet {
 public:
  explicit Alphabet(std::string_view characters);  // UTF-8, each once

  // With the blank.
  [[nodiscard]] std::int64_t symbols() const { return std::ssize(symbols_) + 1; }
  // Of a text in UTF-8; nothing where one of its characters is not of the alphabet.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> read(std::string_view text) const;

 private:
  std::unordered_map<char32_t, std::int32_t> symbols_;
};

// How many time steps CTC needs for the label: one for each symbol, and one for the blank between
// two that are the same.
std::int64_t steps_needed(std::span<const std::int32_t> symbols);

// Labels of some examples, as in Batch.
struct SymbolLists {
  std::vector<std::int32_t> symbols;
  std::vector<std::int64_t> offsets{0};

  [[nodiscard]] std::int64_t size() const { return std::ssize(offsets) - 1; }
  void push_back(std::span<const std::int32_t> label);
  [[nodiscard]] std::span<const std::int32_t> operator[](std::size_t index) const;
};

// Adds the label of the batch's next example; before the first one the batch's labels are begun.
void begin_symbols(Batch& batch);
void append_symbols(std::span<const std::int32_t> label, Batch& batch);

}  // namespace trainyard::runtime
