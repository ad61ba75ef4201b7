// Small files that Pillow wrote, with what Pillow reads in them (tests/golden/make_image_files.py):
// a model's bytes depend on every decoded byte.
#include "runtime/data/image_file.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/core/counter_rng.h"
#include "runtime/data/resample.h"
#include "schemas/files/sha256.h"
#include "tests/golden/golden.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

const std::string golden_folder = "tests/golden/image_files/";

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string sha256_of(const std::vector<std::uint8_t>& pixels) {
  return sha256_hex({reinterpret_cast<const char*>(pixels.data()), pixels.size()});
}

std::string fault_of(const std::string& content) {
  const auto image = decode_image(bytes_of(content), 3);
  return image ? "" : image.error().message;
}

// A PNG image's first chunk claims this; its checksum is right.
std::string png_that_claims(std::uint32_t width, std::uint32_t height) {
  std::string content = content_of(golden_folder + "grey.png");
  for (std::size_t i = 0; i < 4; ++i) {
    content[16 + i] = static_cast<char>(width >> (24 - 8 * i) & 0xFF);
    content[20 + i] = static_cast<char>(height >> (24 - 8 * i) & 0xFF);
  }
  std::uint32_t sum = 0xFFFFFFFF;
  for (std::size_t i = 12; i < 29; ++i) {
    sum ^= static_cast<std::uint8_t>(content[i]);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum % 2 != 0 ? 0xEDB88320U : 0U);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    content[29 + i] = static_cast<char>(~sum >> (24 - 8 * i) & 0xFF);
  }
  return content;
}

}  // namespace

TEST_CASE("PNG, JPEG, PGM and PPM files are decoded to the bytes that Pillow gives",
          "[image_file]") {
  const auto golden = load_golden("image_files.json");
  REQUIRE(golden["files"].size() == 11);
  for (const auto& [name, expected] : golden["files"].items()) {
    INFO(name);
    for (const std::int64_t channels : {1, 3}) {
      const auto image = read_image_file("dataset.path", golden_folder + name, channels);
      REQUIRE(image);
      CHECK(image->shape == ImageShape{golden["height"], golden["width"], channels});
      CHECK(sha256_of(image->pixels) ==
            expected[channels == 1 ? "grey" : "colours"].get<std::string>());
    }
  }
}

TEST_CASE("images are resized to the bytes that Pillow gives", "[image_file]") {
  const auto golden = load_golden("image_files.json");
  const auto colours = read_image_file("dataset.path", golden_folder + "colours.png", 3);
  const auto grey = read_image_file("dataset.path", golden_folder + "grey.pgm", 1);
  REQUIRE(colours);
  REQUIRE(grey);
  for (const auto& expected : golden["resized"]) {
    INFO(expected.dump());
    const bool is_grey = expected.contains("grey");
    const Image& from = is_grey ? *grey : *colours;
    const ImageShape to{expected["size"][0], expected["size"][1], from.shape.channels};
    const auto made = resample(from.pixels, from.shape, middle_window(from.shape, to), to);
    CHECK(sha256_of(made) == expected[is_grey ? "grey" : "pixels"].get<std::string>());
  }
}

TEST_CASE("the middle window has the new proportions and is as large as it can be",
          "[image_file]") {
  const auto window = [](std::int64_t height, std::int64_t width, std::int64_t to_height,
                         std::int64_t to_width) {
    return middle_window({height, width, 3}, {to_height, to_width, 3});
  };
  CHECK(window(100, 300, 50, 50) == Window{0, 100, 100, 100});
  CHECK(window(300, 100, 50, 50) == Window{100, 0, 100, 100});
  CHECK(window(100, 300, 10, 20) == Window{0, 50, 100, 200});
  CHECK(window(64, 48, 32, 24) == Window{0, 0, 64, 48});
  CHECK(window(1, 5000, 2048, 1) == Window{0, 2499, 1, 1});
}

TEST_CASE("what is no image, or none that is read, is said", "[image_file]") {
  CHECK(fault_of("") == "is no PNG, JPEG, PGM or PPM image");
  CHECK(fault_of("GIF89a") == "is no PNG, JPEG, PGM or PPM image");
  CHECK_THAT(fault_of(content_of(golden_folder + "four_colours.jpg")), Contains("CMYK"));
  CHECK_THAT(fault_of("P2\n1 1\n255\n7\n"), Contains("binary PGM (P5) and PPM (P6)"));
  CHECK_THAT(fault_of("P5\n1 1\n65535\n77"), Contains("values up to 65535"));
  CHECK_THAT(fault_of("P5\n1 x\n255\n7"), Contains("damaged header"));
  CHECK_THAT(fault_of("P5\n99999999999 1\n255\n7"), Contains("damaged header"));
  CHECK_THAT(fault_of("P6\n2 1\n255\n12345"), Contains("truncated"));
  CHECK_THAT(fault_of("P5\n0 1\n255\n"), Contains("no pixels"));
  CHECK_THAT(fault_of(std::string("P5\n1 1\n3\n\4")), Contains("above the 3"));
  const auto scaled =
      decode_image(bytes_of("P5 # of a script\n3 1\n3\n" + std::string("\0\1\3", 3)), 1);
  REQUIRE(scaled);
  CHECK(scaled->pixels == std::vector<std::uint8_t>{0, 85, 255});
}

TEST_CASE("an image that is cut is truncated wherever it is cut", "[image_file]") {
  for (const std::string name : {"colours.png", "deep.png", "colours.jpg", "progressive.jpg",
                                 "grey.jpg", "colours.ppm", "grey.pgm"}) {
    const std::string whole = content_of(golden_folder + name);
    REQUIRE(fault_of(whole) == "");
    // The end of a JPEG image is a mark that nothing follows.
    for (std::size_t size = 20; size < whole.size() - 2; size += 1 + size / 7) {
      INFO(name << " " << size);
      CHECK_THAT(fault_of(whole.substr(0, size)), Contains("truncated") || Contains("damaged"));
    }
  }
}

TEST_CASE("an image that claims the world takes no memory for it", "[image_file]") {
  CHECK_THAT(fault_of(png_that_claims(60'000, 60'000)),
             Contains("claims 60000 x 60000 pixels; at most 67108864"));
  CHECK_THAT(fault_of(png_that_claims(17, 999'999)), Contains("truncated") || Contains("damaged"));
  CHECK_THAT(fault_of("P6\n2000000000 2000000000\n255\n1"), Contains("at most 67108864"));
  CHECK_THAT(fault_of("P6\n8192 8192\n255\n1"), Contains("truncated"));
  std::string jpeg = content_of(golden_folder + "grey.jpg");
  const std::size_t frame = jpeg.find("\xFF\xC0");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, "\xFA\xFA\xFA\xFA");
  CHECK_THAT(fault_of(jpeg), Contains("claims 64250 x 64250 pixels"));
}

TEST_CASE("what a PNG image claims beside its pixels is given no memory", "[image_file]") {
  const auto peak_kilobytes = [] {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
  };
  const long before = peak_kilobytes();
  for (const std::string kind : {"zTXt", "tEXt", "iTXt", "iCCP", "eXIf", "sPLT", "abCd"}) {
    std::string content = content_of(golden_folder + "grey.png");
    content.insert(33, "\x7f\xff\xff\xff" + kind);  // behind the first chunk
    CHECK_THAT(fault_of(content), Contains("truncated"));
  }
  CHECK(peak_kilobytes() - before < 256 << 10);
}

TEST_CASE("damaged image files are decoded or refused", "[image_file][damage]") {
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder)) {
    const std::string whole = content_of(entry.path().string());
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const CounterRng rng(seed, RngStream::synthetic);
      std::string content = whole;
      for (std::uint64_t wound = 0; wound < 1 + seed % 3; ++wound) {
        const auto words = rng.block(wound);
        content[words[0] % content.size()] = static_cast<char>(words[1]);
      }
      const auto image = decode_image(bytes_of(content), 1 + 2 * static_cast<int>(seed % 2));
      refused += image ? 0 : 1;
      if (image) {
        REQUIRE(image->pixels.size() == image->shape.bytes());
      } else {
        REQUIRE_FALSE(image.error().message.empty());
      }
    }
    INFO(entry.path());
    CHECK(refused > 5);
  }
}

}  // namespace trainyard::runtime
