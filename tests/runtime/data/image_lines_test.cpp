#include "runtime/data/image_lines.h"

#include <catch2/catch.hpp>

#include "runtime/data/symbols.h"
#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;
using Ids = std::vector<std::int32_t>;

// A grey image in one tone.
std::string grey_line(int height, int width, int value) {
  return "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" +
         std::string(static_cast<std::size_t>(height * width), static_cast<char>(value));
}

DatasetSpec lines_spec(std::string path) {
  DatasetSpec spec;
  spec.format = "image_lines";
  spec.path = std::move(path);
  spec.height = 2;
  spec.width = 4;
  spec.channels = 1;
  spec.test_fraction = 0.25;
  spec.sequence.alphabet = "abé";
  return spec;
}

std::string lines_error(const DatasetSpec& spec, std::int64_t label_steps = 0) {
  const auto data = open_image_lines(spec, 1, {.files = {}, .label_steps = label_steps});
  if (!data) return data.error().message;
  for (const Split split : {Split::train, Split::test}) {
    if (const Status ready = (*data)->prepare(split); !ready) return ready.error().message;
  }
  return "";
}

void write_images(const TempFolder& folder) {
  folder.write("img/wide.pgm", grey_line(2, 8, 50));
  folder.write("img/high.pgm", grey_line(4, 4, 100));
  folder.write("img/one.pgm", grey_line(2, 1, 150));
  folder.write("img/four.pgm", grey_line(2, 4, 200));
}

Ids label_of(const Batch& batch, std::size_t i) {
  return {batch.symbols.begin() + batch.symbol_offsets[i],
          batch.symbols.begin() + batch.symbol_offsets[i + 1]};
}

}  // namespace

TEST_CASE("lines keep their height, and are padded or made narrower to the width",
          "[image_lines]") {
  const TempFolder folder;
  write_images(folder);
  const auto data =
      open_image_lines(lines_spec(folder.write("labels.csv",
                                               "id,text,file\n0,ab,img/wide.pgm\n1,,img/high.pgm\n"
                                               "2,éé,img/one.pgm\n3,b,img/four.pgm\n")),
                       1);
  REQUIRE(data);
  CHECK(
      (*data)->shape() ==
      DataShape{.example = {2, 4, 1}, .features = 8, .labels = LabelLayout::symbols, .symbols = 4});
  std::size_t found = 0;
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(**data, split);
    CHECK(batch.labels.empty());
    CHECK(batch.lengths.empty());
    REQUIRE(std::ssize(batch.symbol_offsets) == batch.examples + 1);
    for (std::size_t i = 0; i + 1 < batch.symbol_offsets.size(); ++i) {
      std::vector<int> pixels;
      for (std::size_t k = 0; k < 8; ++k) {
        pixels.push_back(static_cast<int>(batch.features[i * 8 + k] * 255.0F + 0.5F));
      }
      using Pixels = std::vector<int>;
      if (pixels == Pixels(8, 50)) CHECK(label_of(batch, i) == Ids{1, 2});
      if (pixels == Pixels{100, 100, 0, 0, 100, 100, 0, 0}) CHECK(label_of(batch, i).empty());
      if (pixels == Pixels{150, 0, 0, 0, 150, 0, 0, 0}) CHECK(label_of(batch, i) == Ids{3, 3});
      if (pixels == Pixels(8, 200)) CHECK(label_of(batch, i) == Ids{2});
      found += static_cast<std::size_t>(pixels[0]);
    }
  }
  CHECK(found == 50 + 100 + 150 + 200);
}

TEST_CASE("without a header the columns of lines are file and text", "[image_lines]") {
  const TempFolder folder;
  write_images(folder);
  const auto data = open_image_lines(
      lines_spec(folder.write("l.csv", "img/one.pgm,a\nimg/wide.pgm,b\nimg/one.pgm,ab\n")), 1);
  REQUIRE(data);
  CHECK((*data)->size(Split::train) + (*data)->size(Split::test) == 3);
}

TEST_CASE("lines for the test may be in a file of their own, in its folder", "[image_lines]") {
  const TempFolder folder;
  write_images(folder);
  folder.write("other/img/one.pgm", grey_line(2, 4, 7));
  DatasetSpec spec =
      lines_spec(folder.write("l.csv", "img/one.pgm,a\nimg/wide.pgm,b\nimg/one.pgm,ab\n"));
  spec.test_path = folder.write("other/test.csv", "text,file\nbb,img/one.pgm\n");
  const auto data = open_image_lines(spec, 1);
  REQUIRE(data);
  CHECK((*data)->size(Split::train) == 3);
  const Batch train = read_all(**data, Split::train);
  CHECK(label_of(train, 0) == Ids{1});
  CHECK(label_of(train, 2) == Ids{1, 2});
  const Batch test = read_all(**data, Split::test);
  REQUIRE(test.examples == 1);
  CHECK(label_of(test, 0) == Ids{2, 2});
  CHECK(test.features[0] == 7.0F / 255.0F);

  spec.test_examples = 2;
  CHECK_THAT(lines_error(spec), Contains("dataset.test_examples"));
  spec.test_examples = 0;
  spec.test_path = folder.write("other/bad.csv", "file,text\nimg/one.pgm,z\n");
  CHECK_THAT(lines_error(spec), Contains("other/bad.csv: line 2"));
  spec.test_path = folder.path("none.csv");
  CHECK_THAT(lines_error(spec), Contains("dataset.test_path") && Contains("none.csv"));
}

TEST_CASE("a text that does not fit into the time steps is refused with its line, or left out",
          "[image_lines]") {
  CHECK(steps_needed(Ids{}) == 0);
  CHECK(steps_needed(Ids{1, 2, 1}) == 3);
  CHECK(steps_needed(Ids{1, 1, 1, 2, 2}) == 8);
  const TempFolder folder;
  write_images(folder);
  DatasetSpec spec = lines_spec(folder.write(
      "l.csv", "file,text\nimg/one.pgm,aba\nimg/one.pgm,aa\nimg/one.pgm,bb\nimg/one.pgm,abab\n"));
  CHECK(lines_error(spec).empty());
  CHECK(lines_error(spec, 4).empty());
  CHECK_THAT(lines_error(spec, 3),
             Contains("l.csv: line 5: its text needs 4 time steps, the model's scores have 3"));
  CHECK_THAT(lines_error(spec, 2), Contains("line 2: its text needs 3"));
  spec.sequence.impossible = ImpossibleLabels::skip;
  const auto data = open_image_lines(spec, 1, {.files = {}, .label_steps = 3});
  REQUIRE(data);
  CHECK((*data)->size(Split::train) + (*data)->size(Split::test) == 3);
  CHECK_THAT(lines_error(spec, 2), Contains("has no rows"));
}

TEST_CASE("what is wrong with lines is said with file and line", "[image_lines]") {
  const TempFolder folder;
  write_images(folder);
  const auto error = [&folder](const std::string& rows) {
    return lines_error(
        lines_spec(folder.write("l.csv", "file,text\nimg/one.pgm,a\nimg/one.pgm,a\n" + rows)));
  };
  CHECK(error("").empty());
  CHECK_THAT(error("img/one.pgm,secret\n"),
             Contains("l.csv: line 4: its text has a character that is not in dataset.alphabet") &&
                 !Contains("secret"));
  CHECK_THAT(error("img/one.pgm,\xC3\n"), Contains("line 4: its text is not UTF-8"));
  CHECK_THAT(error("img/one.pgm\n"), Contains("line 4: has no file and text"));
  for (const char* const file : {"", "/etc/passwd", "../one.pgm", "img/../../one.pgm", ".."}) {
    CHECK_THAT(error(std::string(file) + ",a\n"), Contains("line 4: its file is not one below"));
  }
  CHECK_THAT(error("img/none.pgm,a\n"), Contains("there is no file") && Contains("img/none.pgm"));
  folder.write("img/bad.pgm", "P5\n2 2\n255\nx");
  CHECK_THAT(error("img/bad.pgm,a\n"), Contains("img/bad.pgm"));
  CHECK_THAT(lines_error(lines_spec(folder.write("e.csv", "file,text\n"))),
             Contains("has no rows"));
}

}  // namespace trainyard::runtime
