// Files that were good and are damaged by chance: each is either still a data set or gives an error
// that names it.
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/core/counter_rng.h"
#include "runtime/data/dataset.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

// Cuts, doubles or overwrites a few bytes, by seed.
std::string damaged(std::string content, std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  const std::uint64_t wounds = 1 + rng.bits(0) % 4;
  for (std::uint64_t wound = 1; wound <= wounds && !content.empty(); ++wound) {
    const auto words = rng.block(wound);
    const std::size_t place = words[0] % content.size();
    switch (words[1] % 4) {
      case 0: content[place] = static_cast<char>(words[2]); break;
      case 1: content.erase(place, 1 + words[2] % 8); break;
      case 2: content.insert(place, content.substr(place, 1 + words[2] % 8)); break;
      default: content.resize(place); break;
    }
  }
  return content;
}

void require_all_below(const std::vector<std::int32_t>& numbers, std::int64_t end) {
  for (const std::int32_t number : numbers) REQUIRE((number >= 0 && number < end));
}

void require_fields_whole(const Batch& batch, const DataShape& shape) {
  auto id = batch.ids.begin();
  for (const IdFieldShape& field : shape.id_fields) {
    const std::int64_t columns = field.example.empty() ? 1 : field.example.front();
    REQUIRE(batch.ids.end() - id >= columns * batch.examples);
    const auto end = id + columns * batch.examples;
    require_all_below({id, end}, field.ids);
    id = end;
  }
  REQUIRE(id == batch.ids.end());
}

void require_whole(const Batch& batch, const DataShape& shape) {
  require_all_below(batch.labels, shape.classes);
  if (shape.layout == FeatureLayout::columns) {
    require_fields_whole(batch, shape);
  } else {
    require_all_below(batch.ids, shape.vocabulary);
  }
  require_all_below(batch.token_labels, shape.vocabulary);
  require_all_below(batch.symbols, shape.symbols);
  if (shape.layout == FeatureLayout::ids) {
    REQUIRE(std::ssize(batch.ids) == batch.examples * shape.features);
  }
  if (shape.layout == FeatureLayout::ids || shape.layout == FeatureLayout::sequence) {
    REQUIRE(std::ssize(batch.lengths) == batch.examples);
    for (const std::int32_t length : batch.lengths) {
      REQUIRE((length >= 1 && length <= shape.example.front()));
    }
  }
  if (shape.layout == FeatureLayout::ids) return;
  if (shape.layout != FeatureLayout::sparse) {
    REQUIRE(std::ssize(batch.features) == batch.examples * shape.features);
    return;
  }
  REQUIRE(batch.sparse.view().rows() == batch.examples);
  REQUIRE(batch.sparse.offsets.back() == std::ssize(batch.sparse.columns));
  REQUIRE(batch.sparse.values.size() == batch.sparse.columns.size());
  for (const std::int32_t column : batch.sparse.columns) {
    REQUIRE((column >= 0 && column < shape.features));
  }
}

// How many of the damaged versions still open.
int open_all(const std::string& name, const std::string& content, DatasetSpec spec,
             const TempFolder& folder) {
  int opened = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    folder.write(name, damaged(content, seed));
    const auto data = open_dataset(spec, 1);
    if (!data) {
      REQUIRE_FALSE(data.error().message.empty());
      continue;
    }
    if (const Status ready = (*data)->prepare(Split::train); !ready) {
      REQUIRE_FALSE(ready.error().message.empty());
      continue;
    }
    ++opened;
    std::vector<std::int64_t> indices(static_cast<std::size_t>((*data)->size(Split::train)));
    std::iota(indices.begin(), indices.end(), 0);
    Batch batch;
    if (const Status status = (*data)->read({Split::train, indices}, batch); !status) {
      REQUIRE_FALSE(status.error().message.empty());
      --opened;
      continue;
    }
    require_whole(batch, (*data)->shape());
  }
  return opened;
}

std::string idx_of(std::uint32_t count, const std::string& sizes, const std::string& data) {
  const auto rank = static_cast<char>(1 + sizes.size() / 4);
  return std::string{'\0', '\0', '\x08', rank, '\0', '\0', '\0', static_cast<char>(count)} + sizes +
         data;
}

}  // namespace

TEST_CASE("a damaged CSV file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string text = "width,\"height, m\",kind\r\n";
  for (int i = 0; i < 30; ++i) {
    text += std::to_string(i) + ".5,\"" + std::to_string(-i) + "e-1\"," +
            (i % 3 == 0 ? "x" : "\"y\"\"\"") + "\r\n";
  }
  DatasetSpec spec;
  spec.format = "csv";
  spec.path = folder.path() + "/table.csv";
  const int opened = open_all("table.csv", text, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged file of categories and numbers opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string text = "user\titem\tage\tliked\n";
  for (int i = 0; i < 30; ++i) {
    text += "u" + std::to_string(i % 7) + "\t\"" + std::to_string(i % 5) + "\"\t" +
            std::to_string(i) + ".5\t" + std::to_string(i % 2) + "\n";
  }
  DatasetSpec spec;
  spec.format = "recsys";
  spec.path = folder.path() + "/likes.tsv";
  spec.label_column = "liked";
  spec.recsys = {.separator = ColumnSeparator::tab,
                 .has_header = true,
                 .numeric = {"age"},
                 .fields = {{.field = "both", .columns = {"user", "item"}},
                            {.field = "item", .columns = {"item"}, .is_single = true}},
                 .vocabulary = 6,
                 .has_label = true};
  const int opened = open_all("likes.tsv", text, spec, folder);
  REQUIRE(opened > 10);
  REQUIRE(opened < 390);
}

TEST_CASE("a damaged LibSVM file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string text = "# two classes\n";
  for (int i = 0; i < 30; ++i) {
    text += (i % 3 == 0 ? "+1 1:" : "-1 1:") + std::to_string(i) + ".5 7:-1e-1 " +
            std::to_string(100 + i) + ":1\n";
  }
  DatasetSpec spec;
  spec.format = "libsvm";
  spec.path = folder.path() + "/rows.txt";
  const int opened = open_all("rows.txt", text, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged IDX file opens or is refused", "[damage]") {
  const TempFolder folder;
  const std::string sizes{'\0', '\0', '\0', '\x02', '\0', '\0', '\0', '\x03'};
  const std::string images = idx_of(4, sizes, std::string(24, '\x7F'));
  const std::string labels = idx_of(4, "", {'\0', '\x01', '\x02', '\x01'});
  for (const char* const split : {"train", "t10k"}) {
    folder.write(std::string(split) + "-images-idx3-ubyte", images);
    folder.write(std::string(split) + "-labels-idx1-ubyte", labels);
  }
  DatasetSpec spec;
  spec.format = "idx";
  spec.path = folder.path();
  REQUIRE(open_all("train-images-idx3-ubyte", images, spec, folder) > 20);
  folder.write("train-images-idx3-ubyte", images);
  REQUIRE(open_all("train-labels-idx1-ubyte", labels, spec, folder) > 5);
}

TEST_CASE("a damaged CIFAR file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string content;
  for (const char label : {'\0', '\x09', '\x03'}) content += label + std::string(3072, '\x7F');
  folder.write("test_batch.bin", content);
  DatasetSpec spec;
  spec.format = "cifar";
  spec.path = folder.path();
  const int opened = open_all("data_batch_1.bin", content, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged file of texts opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string text = "text,label\r\n";
  for (int i = 0; i < 30; ++i) {
    text += "\"Größe, " + std::to_string(i) + "\" ," + (i % 3 == 0 ? "x" : "y") + "\n";
  }
  DatasetSpec spec;
  spec.format = "text";
  spec.path = folder.path() + "/mails.csv";
  spec.label_column = "label";
  spec.sequence = {.text_column = "text", .length = 8};
  const int opened = open_all("mails.csv", text, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged token file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string content;
  for (int i = 0; i < 200; ++i) content += {static_cast<char>(i), '\0'};
  DatasetSpec spec;
  spec.format = "tokens";
  spec.path = folder.path() + "/t.bin";
  spec.sequence = {.length = 8, .storage = TokenStorage::u16, .vocabulary = 200};
  const int opened = open_all("t.bin", content, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged tokenizer.json is one still or is refused", "[damage]") {
  const TempFolder folder;
  folder.write("t.txt", "the dog doesn't mind; the banana there doesn't, these bananas");
  DatasetSpec spec;
  spec.format = "tokens";
  spec.path = folder.path() + "/t.txt";
  spec.sequence = {
      .tokenizer = {.name = TokenizerName::bpe, .path = folder.path() + "/tokenizer.json"},
      .length = 4};
  const int opened =
      open_all("tokenizer.json", content_of("tests/golden/bpe/tokenizer.json"), spec, folder);
  REQUIRE(opened > 0);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged file of series opens or is refused", "[damage]") {
  const TempFolder folder;
  const bool is_json = GENERATE(false, true);
  std::string text;
  for (int i = 0; i < 30; ++i) {
    const std::string label = i % 3 == 0 ? "x" : "y";
    const std::string number = std::to_string(i);
    text += is_json ? R"({"features": [[)" + number + R"(, -1.5e-1]], "label": ")" + label + "\"}\n"
                    : number + ",-1.5e-1," + number + ",2," + label + "\n";
  }
  DatasetSpec spec;
  spec.format = "sequences";
  spec.path = folder.path() + (is_json ? "/s.jsonl" : "/s.csv");
  spec.features = 2;
  const int opened = open_all(is_json ? "s.jsonl" : "s.csv", text, spec, folder);
  REQUIRE(opened > 2);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged list of lines opens or is refused", "[damage]") {
  const TempFolder folder;
  for (int i = 0; i < 10; ++i) folder.write(std::to_string(i) + ".pgm", "P5\n1 1\n255\nx");
  std::string text = "file,text\n";
  for (int i = 0; i < 30; ++i)
    text += std::to_string(i % 10) + ".pgm,ab" + std::to_string(i) + "\n";
  DatasetSpec spec;
  spec.format = "image_lines";
  spec.path = folder.path() + "/l.csv";
  spec.height = 2;
  spec.width = 2;
  spec.channels = 1;
  spec.sequence.alphabet = "0123456789abé";
  const int opened = open_all("l.csv", text, spec, folder);
  REQUIRE(opened > 8);
  REQUIRE(opened < 380);
}

}  // namespace trainyard::runtime
