#include "runtime/data/text.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "runtime/data/class_names.h"
#include "runtime/data/text_source.h"
#include "runtime/data/token_set.h"
#include "runtime/data/tokenizer.h"

namespace trainyard::runtime {
namespace {

bool is_text_name(std::string_view name) { return name.ends_with(".txt"); }

// Numbers: rows for training, classes, vocabulary. Arrays: offsets, ids, labels, targets, words,
// PackedNames of the classes.
Result<DecodedData> decode_texts(const DatasetSpec& spec, LabelledTexts texts) {
  const auto train = texts.texts.begin() + texts.train;
  TRY_ASSIGN(const auto tokenizer,
             make_tokenizer(spec.sequence.tokenizer,
                            std::vector<std::string_view>(texts.texts.begin(), train)));
  const auto length = static_cast<std::size_t>(spec.sequence.length);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> ids;
  for (std::string& text : texts.texts) {
    tokenizer->append(text, length, ids);
    if (std::ssize(ids) == offsets.back()) {
      ids.push_back(empty_text_id(spec.sequence.tokenizer.name));
    }
    offsets.push_back(std::ssize(ids));
    text = {};  // memory for its ids
  }
  const std::string words = tokenizer->words();
  PackedNames names = pack_names(texts.class_names);
  return decoded_data({texts.train, texts.classes, tokenizer->vocabulary()}, std::move(offsets),
                      std::move(ids), std::move(texts.labels), std::move(texts.targets),
                      std::vector<char>(words.begin(), words.end()), std::move(names.ends),
                      std::move(names.bytes));
}

bool is_sound_text(const DecodedData& data, std::int64_t length) {
  if (data.numbers.size() != 3 || data.arrays.size() != 7) return false;
  const auto offsets = array_of<std::int64_t>(data, 0);
  const auto ids = array_of<std::int32_t>(data, 1);
  const auto labels = array_of<std::int32_t>(data, 2);
  const std::int64_t rows = std::ssize(offsets) - 1;
  const std::int64_t classes = data.numbers[1];
  if (data.numbers[0] < 1 || data.numbers[0] >= rows || offsets.front() != 0 ||
      offsets.back() != std::ssize(ids) || std::ssize(labels) != (classes > 0 ? rows : 0) ||
      std::ssize(array_of<float>(data, 3)) != (classes > 0 ? 0 : rows)) {
    return false;
  }
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    if (offsets[row + 1] < 0 || offsets[row + 1] > std::ssize(ids)) return false;
    const std::int64_t count = offsets[row + 1] - offsets[row];
    if (count < 1 || count > length) return false;
  }
  const auto is_below = [](std::int64_t end) {
    return [end](std::int32_t number) { return number >= 0 && number < end; };
  };
  return std::ranges::all_of(labels, is_below(classes)) &&
         std::ranges::all_of(ids, is_below(data.numbers[2])) && are_names(data, 5, classes);
}

// All that decides what the texts become, but for the files.
std::string reader_of(const DatasetSpec& spec, std::uint64_t seed) {
  const SequenceSpec& sequence = spec.sequence;
  std::string name = "text 3";
  const auto add = [&name](std::uint64_t number) { name += " " + std::to_string(number); };
  add(static_cast<std::uint64_t>(sequence.tokenizer.name));
  add(static_cast<std::uint64_t>(sequence.tokenizer.vocabulary));
  add(static_cast<std::uint64_t>(sequence.length));
  add(static_cast<std::uint64_t>(spec.train_examples));
  add(static_cast<std::uint64_t>(spec.test_examples));
  add(std::bit_cast<std::uint64_t>(spec.test_fraction));
  add(seed);
  return name + " columns \"" + sequence.text_column + "\" \"" + spec.label_column + "\"";
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_text(const DatasetSpec& spec, std::uint64_t seed,
                                           const DataCache& cache) {
  DataCache::Source source{.reader = reader_of(spec, seed), .files = {}};
  std::optional<ClassFolders> folders;
  if (is_folder(spec.path)) {
    TRY_ASSIGN(folders,
               list_class_folders(spec, seed, {.kind = ".txt", .is_wanted = is_text_name}));
    for (const auto& files : folders->splits) {
      for (const ListedFile& file : files) source.files.push_back(file.path);
    }
  } else {
    source.files.push_back(spec.path);
  }
  if (spec.sequence.tokenizer.name == TokenizerName::bpe) {
    source.files.push_back(spec.sequence.tokenizer.path);
  }
  const auto read = [&]() -> Result<DecodedData> {
    TRY_ASSIGN(LabelledTexts texts,
               folders ? read_folder_texts(spec, *folders) : read_csv_texts(spec, seed));
    return decode_texts(spec, std::move(texts));
  };
  const std::int64_t length = spec.sequence.length;
  TRY_ASSIGN(const DecodedData data, cache.get(source, read, [length](const DecodedData& found) {
    return is_sound_text(found, length);
  }));
  const auto words = array_of<char>(data, 4);
  DataShape shape{.example = {length},
                  .features = length,
                  .classes = data.numbers[1],
                  .layout = FeatureLayout::ids,
                  .vocabulary = data.numbers[2]};
  shape.class_names = unpack_names(data, 5);
  if (spec.sequence.buckets.size() > 1) shape.buckets = spec.sequence.buckets;
  TokenTable table{.offsets = array_of<std::int64_t>(data, 0),
                   .ids = array_of<std::int32_t>(data, 1),
                   .labels = array_of<std::int32_t>(data, 2),
                   .targets = array_of<float>(data, 3),
                   .train_rows = data.numbers[0],
                   .words = {words.data(), words.size()},
                   .owner = data.owner};
  return std::unique_ptr<Dataset>(std::make_unique<TokenSet>(std::move(shape), std::move(table)));
}

}  // namespace trainyard::runtime
