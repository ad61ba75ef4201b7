#include "schemas/wire/dataset_facts.h"

#include "schemas/base/utf8.h"

namespace trainyard {
namespace {

using model::unknown_size;

constexpr std::int64_t digit_pixels = 28;
constexpr std::int64_t digit_classes = 10;
constexpr std::int64_t cifar_pixels = 32;
constexpr std::int64_t digits_of_a_line = 4;

model::Facts facts_of_images(const model::Sizes& image, std::int64_t classes) {
  model::Facts facts;
  facts.fields = {{.name = "image", .shape = image}};
  facts.label_kind = model::LabelKind::class_index;
  facts.classes = classes;
  facts.features = 1;
  for (const std::int64_t size : image) {
    const bool is_known = size != unknown_size && facts.features != unknown_size;
    facts.features = is_known ? *facts.features * size : unknown_size;
  }
  return facts;
}

// Whether its labels are classes or numbers, the file tells.
model::Facts facts_of_columns() {
  model::Facts facts;
  facts.fields = {{.name = "features", .shape = model::Sizes{unknown_size}}};
  facts.classes = unknown_size;
  facts.features = unknown_size;
  return facts;
}

model::Facts facts_of_sparse_rows(std::int64_t features) {
  const std::int64_t columns = features > 0 ? features : unknown_size;
  model::Facts facts;
  facts.fields = {
      {.name = "features", .shape = model::Sizes{columns}, .kind = model::ElementKind::sparse}};
  facts.label_kind = model::LabelKind::class_index;
  facts.classes = unknown_size;
  facts.features = columns;
  return facts;
}

// Whether its labels are classes or numbers, the file tells.
model::Facts facts_of_text(const SequenceSpec& sequence) {
  const std::int64_t vocabulary = vocabulary_of(sequence.tokenizer).value_or(unknown_size);
  model::Facts facts;
  facts.fields = {{.name = "tokens",
                   .shape = model::Sizes{sequence.length},
                   .kind = model::ElementKind::id,
                   .ids = vocabulary}};
  facts.classes = unknown_size;
  facts.vocabulary = vocabulary;
  return facts;
}

model::Facts facts_of_tokens(const SequenceSpec& sequence) {
  model::Facts facts = facts_of_text(sequence);
  if (sequence.storage != TokenStorage::text) {
    facts.vocabulary = sequence.vocabulary;
    facts.fields.front().ids = sequence.vocabulary;
  }
  facts.label_kind = model::LabelKind::tokens;
  facts.classes = {};
  return facts;
}

model::Facts facts_of_series(const DatasetSpec& spec) {
  const std::int64_t length = spec.sequence.length > 0 ? spec.sequence.length : unknown_size;
  model::Facts facts;
  facts.fields = {{.name = "features", .shape = model::Sizes{length, spec.features}}};
  facts.classes = unknown_size;
  facts.features = length == unknown_size ? unknown_size : length * spec.features;
  return facts;
}

model::Facts facts_of_lines(const model::Sizes& image, std::int64_t letters) {
  model::Facts facts = facts_of_images(image, unknown_size);
  facts.label_kind = model::LabelKind::symbols;
  facts.classes = {};
  facts.symbols = letters + 1;  // and the blank
  return facts;
}

// Whether its labels are classes or numbers, the file tells, and how long a vocabulary is.
model::Facts facts_of_recsys(const RecsysSpec& recsys) {
  model::Facts facts;
  for (const IdColumns& field : recsys.fields) {
    const auto columns = static_cast<std::int64_t>(field.columns.size());
    facts.fields.push_back({.name = field.field,
                            .shape = field.is_single ? model::Sizes{} : model::Sizes{columns},
                            .kind = model::ElementKind::id,
                            .ids = recsys.hash_buckets > 0 ? recsys.hash_buckets : unknown_size});
  }
  const auto numbers = static_cast<std::int64_t>(recsys.numeric.size());
  if (numbers > 0) {
    facts.fields.push_back({.name = numeric_field, .shape = model::Sizes{numbers}});
  }
  for (const LogFrequency& each : recsys.log_frequencies) {
    facts.fields.push_back({.name = each.field, .shape = model::Sizes{1}});
  }
  if (recsys.has_label) {
    facts.classes = unknown_size;
  } else {
    facts.label_kind = model::LabelKind::none;
  }
  return facts;
}

}  // namespace

model::Facts facts_of(const DatasetSpec& spec) {
  model::Facts facts;
  if (spec.format == "libsvm") {
    facts = facts_of_sparse_rows(spec.features);
  } else if (spec.format == "csv") {
    facts = facts_of_columns();
  } else if (spec.format == "idx") {
    facts = facts_of_images({unknown_size, unknown_size, 1}, unknown_size);
  } else if (spec.format == "cifar") {
    facts = facts_of_images({cifar_pixels, cifar_pixels, 3}, unknown_size);
  } else if (spec.format == "image_folder") {
    facts = facts_of_images({spec.height, spec.width, spec.channels}, unknown_size);
  } else if (spec.format == "text") {
    facts = facts_of_text(spec.sequence);
  } else if (spec.format == "tokens") {
    facts = facts_of_tokens(spec.sequence);
  } else if (spec.format == "sequences") {
    facts = facts_of_series(spec);
  } else if (spec.format == "recsys") {
    facts = facts_of_recsys(spec.recsys);
  } else if (spec.format == "image_lines") {
    facts = facts_of_lines({spec.height, spec.width, spec.channels},
                           count_characters(spec.sequence.alphabet));
  } else if (spec.format == "synthetic_lines") {
    facts = facts_of_lines({digit_pixels, digits_of_a_line * digit_pixels, 1}, digit_classes);
  } else {
    facts = facts_of_images({digit_pixels, digit_pixels, 1}, digit_classes);
  }
  facts.dataset = spec.name;
  return facts;
}

// The windows of `tokens` are all full, and lines of text are padded images.
bool has_lengths(const DatasetSpec& spec) {
  return spec.format == "text" || spec.format == "sequences";
}

}  // namespace trainyard
