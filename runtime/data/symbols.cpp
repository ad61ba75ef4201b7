#include "runtime/data/symbols.h"

#include "schemas/base/check.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {

Alphabet::Alphabet(std::string_view characters) {
  for (std::size_t at = 0; at < characters.size();) {
    const auto symbol = static_cast<std::int32_t>(symbols());
    const bool is_new = symbols_.emplace(next_character(characters, at), symbol).second;
    ENSURE(is_new);
  }
}

std::optional<std::vector<std::int32_t>> Alphabet::read(std::string_view text) const {
  std::vector<std::int32_t> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = symbols_.find(next_character(text, at));
    if (found == symbols_.end()) return std::nullopt;
    symbols.push_back(found->second);
  }
  return symbols;
}

std::int64_t steps_needed(std::span<const std::int32_t> symbols) {
  std::int64_t steps = std::ssize(symbols);
  for (std::size_t i = 1; i < symbols.size(); ++i) steps += symbols[i] == symbols[i - 1] ? 1 : 0;
  return steps;
}

void SymbolLists::push_back(std::span<const std::int32_t> label) {
  symbols.insert(symbols.end(), label.begin(), label.end());
  offsets.push_back(std::ssize(symbols));
}

std::span<const std::int32_t> SymbolLists::operator[](std::size_t index) const {
  const auto begin = static_cast<std::size_t>(offsets[index]);
  return std::span(symbols).subspan(begin, static_cast<std::size_t>(offsets[index + 1]) - begin);
}

void begin_symbols(Batch& batch) {
  batch.symbols.clear();
  batch.symbol_offsets.assign(1, 0);
}

void append_symbols(std::span<const std::int32_t> label, Batch& batch) {
  batch.symbols.insert(batch.symbols.end(), label.begin(), label.end());
  batch.symbol_offsets.push_back(static_cast<std::int32_t>(batch.symbols.size()));
}

}  // namespace trainyard::runtime
