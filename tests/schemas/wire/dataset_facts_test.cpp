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

TEST_CASE("what is known of sequences before their files are read", "[dataset_facts]") {
  using model::LabelKind;
  DatasetSpec spec;
  spec.format = "text";
  spec.sequence = {.tokenizer = {.name = TokenizerName::words, .vocabulary = 500}, .length = 64};
  const model::Field tokens{
      .name = "tokens", .shape = model::Sizes{64}, .kind = model::ElementKind::id, .ids = 500};
  CHECK(facts_of(spec).fields == std::vector{tokens});
  CHECK(facts_of(spec).vocabulary == 500);
  CHECK(facts_of(spec).classes == unknown_size);
  CHECK(facts_of(spec).label_kind == LabelKind::unknown);  // classes or numbers
  CHECK_FALSE(facts_of(spec).features.has_value());
  spec.sequence.tokenizer.name = TokenizerName::bytes;
  CHECK(facts_of(spec).vocabulary == 257);
  spec.sequence.tokenizer.name = TokenizerName::bpe;
  CHECK(facts_of(spec).vocabulary == unknown_size);

  spec.format = "tokens";
  CHECK(facts_of(spec).label_kind == LabelKind::tokens);
  CHECK(facts_of(spec).vocabulary == unknown_size);
  CHECK_FALSE(facts_of(spec).classes.has_value());
  spec.sequence.storage = TokenStorage::u16;
  spec.sequence.vocabulary = 50257;
  CHECK(facts_of(spec).vocabulary == 50257);
  CHECK(facts_of(spec).fields[0].ids == 50257);

  spec.format = "sequences";
  spec.features = 3;
  CHECK(facts_of(spec).fields[0].shape == model::Sizes{64, 3});
  CHECK(facts_of(spec).features == 192);
  spec.sequence.length = 0;
  CHECK(facts_of(spec).fields[0].shape == model::Sizes{unknown_size, 3});
  CHECK(facts_of(spec).features == unknown_size);

  spec.format = "image_lines";
  spec.height = 32;
  spec.width = 128;
  spec.channels = 1;
  spec.sequence.alphabet = "0123456789é線";
  CHECK(facts_of(spec).fields[0].shape == model::Sizes{32, 128, 1});
  CHECK(facts_of(spec).label_kind == LabelKind::symbols);
  CHECK(facts_of(spec).symbols == 13);
  CHECK_FALSE(facts_of(spec).classes.has_value());
  spec.format = "synthetic_lines";
  CHECK(facts_of(spec).fields[0].shape == model::Sizes{28, 112, 1});
  CHECK(facts_of(spec).symbols == 11);
}

}  // namespace trainyard
