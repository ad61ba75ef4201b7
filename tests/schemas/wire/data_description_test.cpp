// What a checkpoint says of its data: what only the files told is known again without them.
#include "schemas/wire/data_description.h"

#include <catch2/catch.hpp>

#include "schemas/model/analysis.h"
#include "schemas/wire/dataset_facts.h"

using namespace trainyard;

namespace {

DatasetSpec of_format(const char* format) {
  DatasetSpec spec;
  spec.name = "data";
  spec.format = format;
  return spec;
}

model::Facts images() {
  model::Facts facts{.dataset = "data",
                     .fields = {{.name = "image", .shape = model::Sizes{28, 28, 1}}},
                     .label_kind = model::LabelKind::class_index,
                     .classes = 10};
  facts.features = 784;
  return facts;
}

std::vector<VariableInfo> variables_of(const model::Written& written, const model::Facts& facts) {
  std::vector<VariableInfo> variables;
  for (const model::Variable& variable : model::analyse(written, facts, {}).variables) {
    variables.push_back({variable.name, variable.shape});
  }
  return variables;
}

model::Facts described(const DatasetSpec& spec, const Description& description) {
  const auto facts = with_description(facts_of(spec), description);
  REQUIRE(facts);
  return *facts;
}

}  // namespace

TEST_CASE("what the files told is known again from the description", "[description]") {
  CHECK(describe_data(images()) ==
        Description{{"example", "[28,28,1]"}, {"labels", "classes"}, {"classes", "10"}});

  CHECK(described(of_format("idx"), describe_data(images())) == images());
}

TEST_CASE("classes are named where their names can be written", "[description]") {
  const auto named = [](std::vector<std::string> names) {
    return describe_data(images(), names)["class_names"];
  };
  CHECK(named({"a", "\"b\"\n", "\xC3\xA4"}) == R"(["a","\"b\"\n","ä"])");
  CHECK(named({"a", "\xFF"}).empty());
  CHECK(named({"a", std::string(class_names_bytes_max, 'b')}).empty());
  // Each takes six bytes as it is written.
  CHECK(named({"a", std::string(class_names_bytes_max / 6, '\x01')}).empty());
  CHECK(describe_data(images()).count("class_names") == 0);
  const Description known = describe_data(images(), std::vector<std::string>{"a", "b"});
  CHECK(described(of_format("idx"), known) == images());
}

TEST_CASE("a CSV of numbers as labels has no classes, one of classes has them", "[description]") {
  const model::Facts numbers =
      described(of_format("csv"), {{"example", "[13]"}, {"labels", "number"}});
  CHECK(numbers.label_kind == model::LabelKind::number);
  CHECK_FALSE(numbers.classes);
  CHECK(numbers.features == 13);
  const model::Facts classes =
      described(of_format("csv"), {{"example", "[4]"}, {"labels", "classes"}, {"classes", "3"}});
  CHECK(classes.label_kind == model::LabelKind::class_index);
  CHECK(classes.classes == 3);
}

TEST_CASE("a vocabulary that a file told is that of the field too", "[description]") {
  DatasetSpec spec = of_format("tokens");
  spec.sequence.tokenizer.name = TokenizerName::bpe;
  spec.sequence.length = 16;
  const model::Facts facts =
      described(spec, {{"example", "[16]"}, {"labels", "tokens"}, {"vocabulary", "5000"}});
  CHECK(facts.vocabulary == 5000);
  CHECK(facts.fields.front().ids == 5000);
}

TEST_CASE("a description that is none, or of other data, is refused", "[description]") {
  const model::Facts facts = facts_of(of_format("synthetic_digits"));
  for (const Description& wrong : std::vector<Description>{{{"example", "[28,28"}},
                                                           {{"example", "[28,-28,1]"}},
                                                           {{"example", "[28,28.5,1]"}},
                                                           {{"example", "[28,1e99,1]"}},
                                                           {{"example", "[1,1,1,1,1,1,1]"}},
                                                           {{"example", "[32,32,3]"}},
                                                           {{"classes", "many"}},
                                                           {{"classes", "0"}},
                                                           {{"classes", "[1,2]"}},
                                                           {{"classes", "11"}}}) {
    INFO(wrong.begin()->second);
    const auto refused = with_description(facts, wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::conflict);
  }
}

TEST_CASE("without a description the shapes of the variables tell what they can", "[description]") {
  const model::Written mlp = model::ZooCall{"mlp"};
  model::Facts csv{.dataset = "data",
                   .fields = {{.name = "features", .shape = model::Sizes{13}}},
                   .label_kind = model::LabelKind::class_index,
                   .classes = 4};
  csv.features = 13;
  const model::Facts found =
      with_variables(facts_of(of_format("csv")), mlp, variables_of(mlp, csv));
  CHECK(found.fields.front().shape == model::Sizes{13});
  CHECK(found.classes == 4);

  DatasetSpec texts = of_format("text");
  texts.sequence.tokenizer.name = TokenizerName::bpe;
  texts.sequence.length = 9;
  const model::Written lstm = model::ZooCall{"lstm_classifier"};
  model::Facts known = facts_of(texts);
  known.vocabulary = known.fields.front().ids = 777;
  known.classes = 5;
  const model::Facts again = with_variables(facts_of(texts), lstm, variables_of(lstm, known));
  CHECK(again.vocabulary == 777);
  CHECK(again.fields.front().ids == 777);
  CHECK(again.classes == 5);
}

TEST_CASE("the variables tell how many ids each field with a vocabulary has", "[description]") {
  DatasetSpec spec = of_format("recsys");
  spec.recsys = {.fields = {{.field = "item", .columns = {"1"}, .is_single = true},
                            {.field = "user", .columns = {"0"}, .is_single = true}},
                 .vocabulary = 1000};
  const auto table = [](const char* name) {
    model::Layer layer = model::op("embedding", {{"size", 4}});
    layer.in = {name};
    layer.name = std::string(name) + "_table";
    return layer;
  };
  const model::Written towers =
      model::Model{.inputs = {{"i", "item"}, {"u", "user"}},
                   .layers = {table("i"), table("u")},
                   .losses = {{.op = "in_batch_softmax", .in = {"u_table", "i_table"}}}};
  model::Facts known = facts_of(spec);
  known.fields[0].ids = 321;
  known.fields[1].ids = 77;
  const model::Facts again = with_variables(facts_of(spec), towers, variables_of(towers, known));
  CHECK(again.fields[0].ids == 321);
  CHECK(again.fields[1].ids == 77);
}

TEST_CASE("of an image's size no variable tells, and it stays unknown", "[description]") {
  const model::Written lenet = model::ZooCall{"lenet5"};
  const model::Facts found =
      with_variables(facts_of(of_format("idx")), lenet, variables_of(lenet, images()));
  CHECK(found.fields.front().shape == model::Sizes{model::unknown_size, model::unknown_size, 1});
  CHECK(found.classes == 10);
}
