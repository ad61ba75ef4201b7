// Byte pair encoding as GPT-2 has it (Sennrich et al. 2016; Radford et al. 2019): a text is cut
// into pieces, and within a piece pairs of tokens become one, the pair that was merged first in
// training first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/tokenizer.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Where the next piece of the text ends that begins at `at`, by GPT-2's expression
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t piece_end(std::string_view text, std::size_t at);

// What two tokens become.
struct Merge {
  std::int32_t rank = 0;  // the lowest is merged first
  std::int32_t id = 0;
};

struct BpeTables {
  std::array<std::int32_t, 256> bytes{};            // the id of each byte
  std::unordered_map<std::uint64_t, Merge> merges;  // by pair_key()
  std::int64_t vocabulary = 0;
};

constexpr std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(left) << 32U) | static_cast<std::uint32_t>(right);
}

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeTables tables) : tables_(std::move(tables)) {}

  [[nodiscard]] std::int64_t vocabulary() const override { return tables_.vocabulary; }
  void append(std::string_view text, std::size_t most,
              std::vector<std::int32_t>& ids) const override;

 private:
  [[nodiscard]] std::vector<std::int32_t> merged(std::string_view piece) const;

  BpeTables tables_;
};

// Of a tokenizer.json of Hugging Face's tokenizers, with a model of type BPE and a byte-level
// pre-tokenizer. Its added tokens count for the vocabulary; in a text they are not looked for.
// `invalid` of another kind of tokenizer, of ids beyond 16,777,215 or given twice, of merges of
// tokens that are not there, or where a byte has no token.
Result<BpeTables> read_bpe_tables(const std::string& path);

}  // namespace trainyard::runtime
