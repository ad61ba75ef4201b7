#include "schemas/wire/sequence_spec_json.h"

#include <algorithm>
#include <string>

#include "schemas/base/utf8.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t length_max = 65'536;
constexpr std::int64_t vocabulary_max = 16'777'216;
constexpr std::size_t buckets_max = 16;
constexpr std::size_t alphabet_max = 4096;

constexpr NameTable<TokenizerName, 3> tokenizer_names{{{TokenizerName::words, "words"},
                                                       {TokenizerName::bytes, "bytes"},
                                                       {TokenizerName::bpe, "bpe"}}};
// A vocabulary of words is of examples that can be told apart.
constexpr NameTable<TokenizerName, 2> stream_tokenizer_names{
    {{TokenizerName::bytes, "bytes"}, {TokenizerName::bpe, "bpe"}}};
constexpr NameTable<TokenStorage, 3> storage_names{
    {{TokenStorage::text, "text"}, {TokenStorage::u16, "u16"}, {TokenStorage::u32, "u32"}}};
constexpr NameTable<ImpossibleLabels, 2> impossible_names{
    {{ImpossibleLabels::refuse, "refuse"}, {ImpossibleLabels::skip, "skip"}}};

template <std::size_t N>
TokenizerSpec read_tokenizer(const JsonPlace& place, const NameTable<TokenizerName, N>& names,
                             TokenizerName otherwise) {
  TokenizerSpec tokenizer{.name = otherwise};
  Fields fields(place, "name");
  if (!fields.require("name")) return tokenizer;
  const std::size_t faults_before = place.faults.size();
  fields.choice("name", tokenizer.name, names);
  if (place.faults.size() > faults_before) return tokenizer;
  if (tokenizer.name == TokenizerName::words) {
    fields.integer("vocabulary", tokenizer.vocabulary, {3, vocabulary_max});
  }
  if (tokenizer.name == TokenizerName::bpe) {
    if (const auto path = fields.require("path")) tokenizer.path = read_absolute_path(*path, 1);
  }
  fields.refuse_others();
  return tokenizer;
}

json tokenizer_to_json(const TokenizerSpec& tokenizer) {
  json object = {{"name", find_name(tokenizer_names, tokenizer.name)}};
  if (tokenizer.name == TokenizerName::words) object["vocabulary"] = tokenizer.vocabulary;
  if (tokenizer.name == TokenizerName::bpe) object["path"] = tokenizer.path;
  return object;
}

// Lengths that examples are padded to, the longest last.
std::vector<std::int64_t> read_buckets(const JsonPlace& place, std::int64_t length) {
  if (!place.value.is_array() || place.value.empty() || place.value.size() > buckets_max) {
    place.fault("must be a list of 1 to " + std::to_string(buckets_max) + " lengths, got " +
                describe(place.value));
    return {};
  }
  std::vector<std::int64_t> buckets;
  for (std::size_t i = 0; i < place.value.size(); ++i) {
    const JsonPlace item{place.value[i], child_pointer(place.pointer, std::to_string(i)),
                         place.faults};
    const auto size = read_integer(item, {1, length_max});
    if (!size) return {};
    if (!buckets.empty() && *size <= buckets.back()) {
      item.fault("must be more than the length before it, " + std::to_string(buckets.back()) +
                 ", got " + std::to_string(*size));
      return {};
    }
    buckets.push_back(*size);
  }
  if (buckets.back() != length) {
    place.fault("must end with dataset.length, " + std::to_string(length) + ", got " +
                std::to_string(buckets.back()));
  }
  return buckets;
}

// Each character once: it is a symbol by its place.
void check_alphabet(const JsonPlace& place, std::string_view alphabet) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < alphabet.size();) {
    std::size_t end = at + 1;
    while (end < alphabet.size() && (static_cast<unsigned char>(alphabet[end]) & 0xC0U) == 0x80U) {
      ++end;
    }
    characters.push_back(alphabet.substr(at, end - at));
    at = end;
  }
  std::ranges::sort(characters);
  const auto twice = std::ranges::adjacent_find(characters);
  if (twice == characters.end()) return;
  place.fault("has the character \"" + std::string(*twice) + "\" twice");
}

void read_test_fraction(Fields& fields, DatasetSpec& dataset) {
  fields.number("test_fraction", dataset.test_fraction, {0.001, 0.999});
}

}  // namespace

std::string read_absolute_path(const JsonPlace& place, std::size_t least) {
  const auto text = read_text(place, printable_rule(least, 4096));
  if (!text) return "";
  if (text->empty() || text->starts_with('/')) return *text;
  place.fault("must be an absolute path on every agent's host, got " + describe(place.value));
  return "";
}

void read_test_path(Fields& fields, DatasetSpec& dataset) {
  if (const auto place = fields.find("test_path")) {
    dataset.test_path = read_absolute_path(*place, 0);
  }
  if (dataset.test_path.empty()) read_test_fraction(fields, dataset);
}

void read_column(Fields& fields, std::string_view name, std::string& column) {
  const auto place = fields.find(name);
  if (!place) return;
  if (place->value.is_number()) {
    if (const auto position = read_integer(*place, {0, 1'000'000})) {
      column = std::to_string(*position);
    }
  } else if (auto text = read_text(*place, printable_rule(0, 255))) {
    column = *std::move(text);
  }
}

void read_text_fields(Fields& fields, DatasetSpec& dataset) {
  SequenceSpec& sequence = dataset.sequence;
  sequence.length = 256;
  sequence.text_column = "text";
  dataset.label_column = "label";
  read_column(fields, "text_column", sequence.text_column);
  read_column(fields, "label_column", dataset.label_column);
  if (const auto place = fields.find("tokenizer")) {
    sequence.tokenizer = read_tokenizer(*place, tokenizer_names, TokenizerName::words);
  }
  fields.integer("length", sequence.length, {1, length_max});
  if (const auto place = fields.find("buckets")) {
    sequence.buckets = read_buckets(*place, sequence.length);
  }
  read_test_fraction(fields, dataset);
}

void read_tokens_fields(Fields& fields, DatasetSpec& dataset) {
  SequenceSpec& sequence = dataset.sequence;
  sequence.length = 256;
  sequence.tokenizer.name = TokenizerName::bytes;
  fields.choice("storage", sequence.storage, storage_names);
  if (sequence.storage == TokenStorage::text) {
    if (const auto place = fields.find("tokenizer")) {
      sequence.tokenizer = read_tokenizer(*place, stream_tokenizer_names, TokenizerName::bytes);
    }
  } else if (fields.require("vocabulary")) {
    fields.integer("vocabulary", sequence.vocabulary, {1, vocabulary_max});
  }
  fields.integer("length", sequence.length, {1, length_max});
  read_test_fraction(fields, dataset);
}

void read_sequences_fields(Fields& fields, DatasetSpec& dataset) {
  dataset.features = 1;
  fields.integer("features", dataset.features, {1, 65'536});
  fields.integer("length", dataset.sequence.length, {0, length_max});
  if (const auto place = fields.find("label_column")) {
    if (const auto position = read_integer(*place, {0, 1'000'000})) {
      dataset.label_column = std::to_string(*position);
    }
  }
  read_test_fraction(fields, dataset);
}

void read_lines_fields(Fields& fields, DatasetSpec& dataset) {
  SequenceSpec& sequence = dataset.sequence;
  if (const auto place = fields.require("alphabet")) {
    if (auto alphabet = read_text(*place, printable_rule(1, alphabet_max))) {
      check_alphabet(*place, *alphabet);
      sequence.alphabet = *std::move(alphabet);
    }
  }
  fields.choice("impossible", sequence.impossible, impossible_names);
  read_test_path(fields, dataset);
}

void add_sequence_fields(const DatasetSpec& dataset, json& object) {
  const SequenceSpec& sequence = dataset.sequence;
  const std::string& format = dataset.format;
  if (format == "text" || format == "tokens" || format == "sequences") {
    object["test_fraction"] = dataset.test_fraction;
    object["length"] = sequence.length;
  }
  if (format == "text") {
    object["text_column"] = sequence.text_column;
    object["label_column"] = dataset.label_column;
    object["tokenizer"] = tokenizer_to_json(sequence.tokenizer);
    if (!sequence.buckets.empty()) object["buckets"] = sequence.buckets;
  }
  if (format == "tokens") {
    object["storage"] = find_name(storage_names, sequence.storage);
    if (sequence.storage == TokenStorage::text) {
      object["tokenizer"] = tokenizer_to_json(sequence.tokenizer);
    } else {
      object["vocabulary"] = sequence.vocabulary;
    }
  }
  if (format == "sequences") {
    object["features"] = dataset.features;
    if (!dataset.label_column.empty()) object["label_column"] = std::stoll(dataset.label_column);
  }
  if (format == "image_lines") {
    object["alphabet"] = sequence.alphabet;
    object["impossible"] = find_name(impossible_names, sequence.impossible);
  }
}

}  // namespace trainyard
