// Each op against a slow pixel-by-pixel version of it, and what is drawn against its distribution.
#include "runtime/data/augment.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "runtime/core/counter_rng.h"
#include "runtime/data/image_reader.h"
#include "runtime/data/resample.h"
#include "tests/runtime/data/batches.h"

namespace trainyard::runtime {

namespace {

constexpr ImageShape small_shape{.height = 7, .width = 9, .channels = 3};

std::vector<std::uint8_t> noise_image(const ImageShape& of, std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  std::vector<std::uint8_t> pixels(of.bytes());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(rng.bits(i) % 255 + 1);  // none is black
  }
  return pixels;
}

std::uint8_t byte_at(const std::vector<std::uint8_t>& pixels, std::int64_t row, std::int64_t column,
                     std::int64_t channel) {
  if (row < 0 || row >= small_shape.height || column < 0 || column >= small_shape.width) return 0;
  return pixels[static_cast<std::size_t>((row * small_shape.width + column) * 3 + channel)];
}

// The image that has at each place what `byte(row, column, channel)` says.
template <class Byte>
std::vector<std::uint8_t> image_of(const Byte& byte) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t row = 0; row < small_shape.height; ++row) {
    for (std::int64_t column = 0; column < small_shape.width; ++column) {
      for (std::int64_t channel = 0; channel < 3; ++channel) {
        pixels.push_back(byte(row, column, channel));
      }
    }
  }
  return pixels;
}

std::vector<std::uint8_t> augmented(const std::vector<AugmentSpec>& ops, std::uint64_t position,
                                    std::vector<std::uint8_t> pixels) {
  Augmentation(ops, small_shape, 11).apply(position, pixels);
  return pixels;
}

std::array<std::uint32_t, 4> words_at(std::uint64_t position, std::uint32_t op = 0) {
  return CounterRng(11, RngStream::augment, op).block(position);
}

std::int64_t scaled_word(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(word) / 4294967296.0 * static_cast<double>(count)));
}

}  // namespace

TEST_CASE("a crop is a window of the padded image, every place of it alike", "[augment]") {
  const auto image = noise_image(small_shape, 1);
  std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    const auto words = words_at(position);
    const std::int64_t down = scaled_word(words[0], 5) - 2;
    const std::int64_t right = scaled_word(words[1], 5) - 2;
    ++seen[{down, right}];
    REQUIRE(augmented({CropSpec{.padding = 2}}, position, image) ==
            image_of([&](std::int64_t row, std::int64_t column, std::int64_t channel) {
              return byte_at(image, row + down, column + right, channel);
            }));
  }
  REQUIRE(seen.size() == 25);
  for (const auto& [place, count] : seen) CHECK(std::abs(count - 160) < 5 * 13);  // 5 deviations
}

TEST_CASE("padding beyond the image leaves black", "[augment]") {
  const auto image = noise_image(small_shape, 2);
  int black = 0;
  for (std::uint64_t position = 0; position < 200; ++position) {
    const auto cropped = augmented({CropSpec{.padding = 40}}, position, image);
    black += std::ranges::all_of(cropped, [](std::uint8_t byte) { return byte == 0; }) ? 1 : 0;
  }
  CHECK(black > 100);
  CHECK(black < 200);
}

TEST_CASE("every other image is flipped, by its columns or its rows", "[augment]") {
  const auto image = noise_image(small_shape, 3);
  for (const ImageAxis axis : {ImageAxis::width, ImageAxis::height}) {
    const auto turned = image_of([&](std::int64_t row, std::int64_t column, std::int64_t channel) {
      return axis == ImageAxis::width
                 ? byte_at(image, row, small_shape.width - 1 - column, channel)
                 : byte_at(image, small_shape.height - 1 - row, column, channel);
    });
    int flipped = 0;
    for (std::uint64_t position = 0; position < 2000; ++position) {
      const auto made = augmented({FlipSpec{.axis = axis}}, position, image);
      REQUIRE((made == image || made == turned));
      flipped += made == turned ? 1 : 0;
    }
    CHECK(std::abs(flipped - 1000) < 5 * 23);
  }
}

TEST_CASE("a cutout is a black square around any pixel, cut at the edges", "[augment]") {
  const auto image = noise_image(small_shape, 4);
  std::set<std::pair<std::int64_t, std::int64_t>> middles;
  for (const std::int64_t size : {1, 3, 4, 30}) {
    for (std::uint64_t position = 0; position < 500; ++position) {
      const auto words = words_at(position);
      const std::int64_t middle_row = scaled_word(words[0], small_shape.height);
      const std::int64_t middle_column = scaled_word(words[1], small_shape.width);
      middles.insert({middle_row, middle_column});
      const auto is_inside = [size](std::int64_t place, std::int64_t middle) {
        return place >= middle - size / 2 && place < middle - size / 2 + size;
      };
      REQUIRE(augmented({CutoutSpec{.size = size}}, position, image) ==
              image_of([&](std::int64_t row, std::int64_t column, std::int64_t channel) {
                const bool inside = is_inside(row, middle_row) && is_inside(column, middle_column);
                return inside ? std::uint8_t{0} : byte_at(image, row, column, channel);
              }));
    }
  }
  CHECK(middles.size() == 63);
}

TEST_CASE("brightness multiplies all bytes by one number and stays within a byte", "[augment]") {
  const auto image = noise_image(small_shape, 5);
  double sum = 0;
  for (std::uint64_t position = 0; position < 1000; ++position) {
    const auto made = augmented({BrightnessSpec{.amount = 0.25}}, position, image);
    const std::int64_t factor = 65536 - 16384 + scaled_word(words_at(position)[0], 32769);
    sum += static_cast<double>(factor) / 65536;
    REQUIRE(factor >= 49152);
    REQUIRE(factor <= 81920);
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double exact = static_cast<double>(image[i]) * static_cast<double>(factor) / 65536;
      REQUIRE(made[i] == static_cast<int>(std::min(255.0, std::floor(exact + 0.5))));
    }
  }
  CHECK(std::abs(sum / 1000 - 1) < 5 * 0.25 / std::sqrt(3.0 * 1000));
}

TEST_CASE("a resized crop is a window of such an area, stretched to the image", "[augment]") {
  constexpr ImageShape large{.height = 40, .width = 60, .channels = 1};
  const auto image = noise_image(large, 6);
  const Augmentation crop({RandomResizedCropSpec{.scale_least = 0.2, .scale_most = 0.5}}, large,
                          11);
  double area_sum = 0;
  int wide = 0;
  for (std::uint64_t position = 0; position < 400; ++position) {
    const auto words = words_at(position);
    const double area = (0.2 + 0.3 * words[0] / 4294967296.0) * 2400;
    const double ratio = 0.75 + 0.25 * (words[1] / 2) / 2147483648.0;
    const bool is_tall = words[1] % 2 == 1;
    const auto shorter = static_cast<std::int64_t>(std::floor(std::sqrt(area * ratio) + 0.5));
    const auto longer = static_cast<std::int64_t>(std::floor(std::sqrt(area / ratio) + 0.5));
    Window window{.height = std::min<std::int64_t>(is_tall ? longer : shorter, 40),
                  .width = std::min<std::int64_t>(is_tall ? shorter : longer, 60)};
    window.top = scaled_word(words[2], 41 - window.height);
    window.left = scaled_word(words[3], 61 - window.width);
    area_sum += static_cast<double>(window.height * window.width) / 2400;
    wide += window.width >= window.height ? 1 : 0;
    auto made = image;
    crop.apply(position, made);
    REQUIRE(made == resample(image, large, window, large));
  }
  CHECK(std::abs(area_sum / 400 - 0.35) < 0.03);
  CHECK(wide > 150);
  CHECK(wide < 290);
}

TEST_CASE("ops follow one another, each with numbers of its own", "[augment]") {
  const auto image = noise_image(small_shape, 7);
  const FlipSpec flip{.axis = ImageAxis::width};
  int differs = 0;
  for (std::uint64_t position = 0; position < 100; ++position) {
    const auto turned = augmented({flip}, position, image);
    const auto twice = augmented({flip, flip}, position, image);
    const bool second = words_at(position, 1)[0] >= 0x80000000;
    const auto back = image_of([&](std::int64_t row, std::int64_t column, std::int64_t channel) {
      return byte_at(turned, row, small_shape.width - 1 - column, channel);
    });
    REQUIRE(twice == (second ? back : turned));
    differs += twice != image ? 1 : 0;  // never, were both drawn alike
    const std::int64_t down = scaled_word(words_at(position, 1)[0], 3) - 1;
    const std::int64_t right = scaled_word(words_at(position, 1)[1], 3) - 1;
    REQUIRE(augmented({flip, CropSpec{.padding = 1}}, position, image) ==
            image_of([&](std::int64_t row, std::int64_t column, std::int64_t channel) {
              return byte_at(turned, row + down, column + right, channel);
            }));
  }
  CHECK(differs > 25);
}

TEST_CASE("an example is the same however the line is cut into batches, and another each epoch",
          "[augment]") {
  DatasetSpec spec;
  spec.format = "synthetic_digits";
  spec.train_examples = 12;
  spec.test_examples = 3;
  spec.augment = {CropSpec{.padding = 3}, FlipSpec{}, BrightnessSpec{.amount = 0.5}};
  const auto data = open_dataset(spec, 9);
  REQUIRE(data);
  std::vector<std::int64_t> line;
  for (std::int64_t position = 0; position < 24; ++position) line.push_back(position % 12);
  Batch whole;
  REQUIRE((*data)->read({Split::train, line, 100}, whole));
  const std::size_t size = 784;
  for (const std::size_t cut : {1, 5, 7}) {
    for (std::size_t begin = 0; begin < line.size(); begin += cut) {
      const auto part = std::span(line).subspan(begin, std::min(cut, line.size() - begin));
      Batch batch;
      REQUIRE((*data)->read({Split::train, part, 100 + begin}, batch));
      REQUIRE(batch.first_position == 100 + begin);
      REQUIRE(std::ranges::equal(
          batch.features, std::span(whole.features).subspan(begin * size, part.size() * size)));
    }
  }
  for (std::size_t i = 0; i < 12; ++i) {
    const auto first = std::span(whole.features).subspan(i * size, size);
    const auto second = std::span(whole.features).subspan((12 + i) * size, size);
    CHECK_FALSE(std::ranges::equal(first, second));
  }
  // Examples of the test are as they are.
  DatasetSpec plain = spec;
  plain.augment.clear();
  const auto unchanged = open_dataset(plain, 9);
  REQUIRE(unchanged);
  CHECK(read_all(**data, Split::test).features == read_all(**unchanged, Split::test).features);
  CHECK(read_all(**data, Split::train).features != read_all(**unchanged, Split::train).features);
}

TEST_CASE("normalized bytes are (b / 255 - mean) / stddev of their channel, rounded once",
          "[augment]") {
  DatasetSpec spec;
  spec.path = "/somewhere";
  spec.normalize = NormalizeSpec{.mean = {0.5, 0.25, 0.125}, .stddev = {0.2}};
  const std::vector<std::int64_t> example{7, 9, 3};
  const auto reader = ImageReader::make(spec, 1, example);
  REQUIRE(reader);
  const auto image = noise_image(small_shape, 8);
  std::vector<float> numbers(image.size());
  reader->read(image, std::nullopt, numbers.data());
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double exact = (image[i] / 255.0 - spec.normalize->mean[i % 3]) / 0.2;
    REQUIRE(numbers[i] == static_cast<float>(exact));
  }
  spec.normalize = NormalizeSpec{.mean = {0.5}, .stddev = {0.25}};
  const auto same_for_all = ImageReader::make(spec, 1, example);
  REQUIRE(same_for_all);
  same_for_all->read(image, std::nullopt, numbers.data());
  CHECK(numbers[4] == static_cast<float>((image[4] / 255.0 - 0.5) / 0.25));

  spec.normalize = NormalizeSpec{.mean = {0.5, 0.5}, .stddev = {0.25}};
  CHECK(ImageReader::make(spec, 1, example).error().message ==
        "dataset.normalize.mean has 2 numbers, but the images have 3 channels");
  spec.normalize.reset();
  spec.augment = {FlipSpec{}};
  CHECK_THAT(ImageReader::make(spec, 1, std::vector<std::int64_t>{5}).error().message,
             Catch::Matchers::Contains("are no images"));
}

}  // namespace trainyard::runtime
