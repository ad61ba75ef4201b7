// How texts become ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/sequence_spec.h"

namespace trainyard::runtime {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Every id is below it.
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  // What Dataset::words() says; "" where ids are no words.
  [[nodiscard]] virtual std::string words() const { return ""; }

  // Adds the first `most` ids of the text, or as many as it has. The text is UTF-8, except for
  // bytes. Thread-safe.
  virtual void append(std::string_view text, std::size_t most,
                      std::vector<std::int32_t>& ids) const = 0;
};

// Any bytes are a text.
constexpr bool needs_utf8(TokenizerName name) { return name != TokenizerName::bytes; }

// The id of a text that has none: there is no example of length 0.
constexpr std::int32_t empty_text_id(TokenizerName name) {
  return name == TokenizerName::words ? 1 : 0;
}

// Of the words of `texts`, the training split's: where the tokenizer has no need of them, none is
// looked at. `invalid` or `not_found` where its file cannot be read.
Result<std::unique_ptr<Tokenizer>> make_tokenizer(const TokenizerSpec& spec,
                                                  const std::vector<std::string_view>& texts);

}  // namespace trainyard::runtime
