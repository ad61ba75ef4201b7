// Reads a tokenizer.json. All that it says is checked, and what would make other tokens than this
// reader does is refused.
#include <algorithm>
#include <optional>

#include "runtime/data/bpe.h"
#include "runtime/data/text_file.h"
#include "schemas/base/utf8.h"
#include "schemas/wire/json_text.h"

namespace trainyard::runtime {
namespace {

using nlohmann::json;

constexpr std::int64_t tokenizer_bytes_max = std::int64_t{64} << 20;
constexpr std::int64_t ids_max = 16'777'216;

Error bad_tokenizer(const std::string& path, const std::string& what) {
  return invalid("dataset.tokenizer.path: " + path + ": " + what);
}

// The member, or a null.
const json& json_member(const json& object, const char* name) {
  static const json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

bool is_id(const json& value) {
  return value.is_number_integer() && value.get<double>() >= 0 &&
         value.get<double>() < static_cast<double>(ids_max);
}

bool is_unset(const json& value) {
  return value.is_null() || value == json(false) || value == json("");
}

// "" where the file asks for nothing that is not done here.
std::string why_unfit(const json& document) {
  const json& model = json_member(document, "model");
  const json& cutter = json_member(document, "pre_tokenizer");
  if (!model.is_object()) return "model must be an object";
  if (!json_member(model, "type").is_null() && json_member(model, "type") != json("BPE")) {
    return "model.type must be BPE";
  }
  for (const char* const name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                                 "byte_fallback", "ignore_merges"}) {
    if (!is_unset(json_member(model, name))) {
      return "model." + std::string(name) + " is not in this version yet";
    }
  }
  if (!json_member(document, "normalizer").is_null()) return "normalizer must be null";
  if (json_member(cutter, "type") != json("ByteLevel"))
    return "pre_tokenizer.type must be ByteLevel";
  if (json_member(cutter, "add_prefix_space") == json(true)) {
    return "pre_tokenizer.add_prefix_space must be false";
  }
  if (json_member(cutter, "use_regex") == json(false))
    return "pre_tokenizer.use_regex must be true";
  return "";
}

// How tokens spell bytes: those that can be seen as themselves, the others as what follows U+0100.
std::string spelling_of(std::size_t byte) {
  const auto is_seen = [](std::size_t b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
  };
  std::size_t character = byte;
  if (!is_seen(byte)) {
    character = 0x100;
    for (std::size_t before = 0; before < byte; ++before) character += is_seen(before) ? 0 : 1;
  }
  std::string text;
  append_utf8(static_cast<char32_t>(character), text);
  return text;
}

using Vocabulary = std::unordered_map<std::string, std::int32_t>;

Result<Vocabulary> read_vocabulary(const std::string& path, const json& document,
                                   std::int64_t& count) {
  const json& entries = json_member(json_member(document, "model"), "vocab");
  if (!entries.is_object()) return bad_tokenizer(path, "model.vocab must be an object");
  Vocabulary vocabulary;
  std::vector<bool> is_taken;
  for (const auto& [token, id] : entries.items()) {
    if (!is_id(id)) return bad_tokenizer(path, "an id of model.vocab is not 0 to 16777215");
    const auto number = id.get<std::size_t>();
    if (number >= is_taken.size()) is_taken.resize(number + 1);
    if (is_taken[number]) {
      return bad_tokenizer(path, "the id " + std::to_string(number) + " is in model.vocab twice");
    }
    is_taken[number] = true;
    vocabulary.emplace(token, static_cast<std::int32_t>(number));
  }
  count = std::ssize(is_taken);
  const json& added = json_member(document, "added_tokens");
  if (!added.is_null() && !added.is_array())
    return bad_tokenizer(path, "added_tokens must be a list");
  for (const json& token : added) {
    if (!is_id(json_member(token, "id"))) {
      return bad_tokenizer(path, "an id of added_tokens is not 0 to 16777215");
    }
    count = std::max(count, json_member(token, "id").get<std::int64_t>() + 1);
  }
  return vocabulary;
}

struct Pair {
  std::string left;
  std::string right;
};

// "left right", or a list of the two.
std::optional<Pair> pair_of(const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return Pair{.left = merge[0].get<std::string>(), .right = merge[1].get<std::string>()};
  }
  if (!merge.is_string()) return std::nullopt;
  const auto& text = merge.get_ref<const std::string&>();
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  return Pair{.left = text.substr(0, blank), .right = text.substr(blank + 1)};
}

Status read_merges(const std::string& path, const json& document, const Vocabulary& vocabulary,
                   BpeTables& tables) {
  const json& merges = json_member(json_member(document, "model"), "merges");
  if (!merges.is_array()) return bad_tokenizer(path, "model.merges must be a list");
  const auto id_of = [&vocabulary](const std::string& token) -> std::optional<std::int32_t> {
    const auto found = vocabulary.find(token);
    return found == vocabulary.end() ? std::nullopt : std::optional(found->second);
  };
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto at = [i] { return "model.merges[" + std::to_string(i) + "]"; };
    const std::optional<Pair> pair = pair_of(merges[i]);
    if (!pair) return bad_tokenizer(path, at() + " is not two tokens");
    const auto left = id_of(pair->left);
    const auto right = id_of(pair->right);
    const auto both = id_of(pair->left + pair->right);
    if (!left || !right || !both)
      return bad_tokenizer(path, at() + " is of a token not in model.vocab");
    tables.merges.try_emplace(pair_key(*left, *right),
                              Merge{.rank = static_cast<std::int32_t>(i), .id = *both});
  }
  return ok();
}

}  // namespace

Result<BpeTables> read_bpe_tables(const std::string& path) {
  TRY_ASSIGN(const std::string text,
             read_text_file("dataset.tokenizer.path", path, tokenizer_bytes_max));
  const auto document = parse_json(text, "tokenizer.json");
  if (!document) {  // its own words may have the file's in them
    return bad_tokenizer(path,
                         "is no JSON of at most " + std::to_string(json_values_max) + " values");
  }
  if (const std::string reason = why_unfit(*document); !reason.empty()) {
    return bad_tokenizer(path, reason);
  }
  BpeTables tables;
  TRY_ASSIGN(const Vocabulary vocabulary, read_vocabulary(path, *document, tables.vocabulary));
  for (std::size_t byte = 0; byte < tables.bytes.size(); ++byte) {
    const auto found = vocabulary.find(spelling_of(byte));
    if (found == vocabulary.end()) {
      return bad_tokenizer(path, "model.vocab has no token for the byte " + std::to_string(byte));
    }
    tables.bytes[byte] = found->second;
  }
  TRY(read_merges(path, *document, vocabulary, tables));
  return tables;
}

}  // namespace trainyard::runtime
