#include "schemas/wire/dataset_facts.h"

#include <catch2/catch.hpp>

namespace trainyard {

using model::unknown_size;

TEST_CASE("what is known of images before their files are read", "[dataset_facts]") {
  DatasetSpec spec;
  spec.name = "made";
  const auto image = [&spec](const char* format) {
    spec.format = format;
    const model::Facts facts = facts_of(spec);
    CHECK(facts.dataset == "made");
    CHECK(facts.label_kind == model::LabelKind::class_index);
    REQUIRE(facts.fields.size() == 1);
    CHECK(facts.fields[0].name == "image");
    return facts;
  };
  CHECK(image("synthetic_digits").fields[0].shape == model::Sizes{28, 28, 1});
  CHECK(image("synthetic_digits").features == 784);
  CHECK(image("synthetic_digits").classes == 10);
  CHECK(image("idx").fields[0].shape == model::Sizes{unknown_size, unknown_size, 1});
  CHECK(image("idx").features == unknown_size);
  CHECK(image("cifar").fields[0].shape == model::Sizes{32, 32, 3});
  CHECK(image("cifar").features == 3072);
  CHECK(image("cifar").classes == unknown_size);  // 10, 20 or 100
  spec.height = 20;
  spec.width = 30;
  spec.channels = 1;
  CHECK(image("image_folder").fields[0].shape == model::Sizes{20, 30, 1});
  CHECK(image("image_folder").features == 600);
  CHECK(image("image_folder").classes == unknown_size);
}

}  // namespace trainyard
