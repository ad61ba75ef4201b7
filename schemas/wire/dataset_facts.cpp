#include "schemas/wire/dataset_facts.h"

namespace trainyard {
namespace {

using model::unknown_size;

constexpr std::int64_t digit_pixels = 28;
constexpr std::int64_t digit_classes = 10;
constexpr std::int64_t cifar_pixels = 32;

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
  } else {
    facts = facts_of_images({digit_pixels, digit_pixels, 1}, digit_classes);
  }
  facts.dataset = spec.name;
  return facts;
}

}  // namespace trainyard
