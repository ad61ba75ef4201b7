#include "runtime/data/tokenizer.h"

#include <utility>

#include "runtime/data/bpe.h"
#include "runtime/data/words.h"

namespace trainyard::runtime {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::int64_t vocabulary() const override { return bytes_vocabulary; }
  void append(std::string_view text, std::size_t most,
              std::vector<std::int32_t>& ids) const override {
    for (const char byte : text.substr(0, most))
      ids.push_back(static_cast<unsigned char>(byte) + 1);
  }
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_tokenizer(const TokenizerSpec& spec,
                                                  const std::vector<std::string_view>& texts) {
  switch (spec.name) {
    case TokenizerName::words:
      return std::unique_ptr<Tokenizer>(std::make_unique<WordTokenizer>(spec.vocabulary, texts));
    case TokenizerName::bytes: return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>());
    case TokenizerName::bpe: break;
  }
  TRY_ASSIGN(BpeTables tables, read_bpe_tables(spec.path));
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(std::move(tables)));
}

}  // namespace trainyard::runtime
