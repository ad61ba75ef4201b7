#include "tests/bench/drawn_files.h"

#include <string>

#include "runtime/core/counter_rng.h"

namespace trainyard::bench {
namespace {

constexpr std::int64_t test_examples = 32;

class Draws {
 public:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(rng_.bits(position_++) % static_cast<std::uint64_t>(bound));
  }
  std::string bytes(std::int64_t count) {
    std::string drawn;
    while (std::ssize(drawn) < count) drawn += static_cast<char>(below(256));
    return drawn;
  }

 private:
  const runtime::CounterRng rng_{1, runtime::RngStream::synthetic};
  std::uint64_t position_ = 0;
};

DatasetSpec spec_of(const char* format, std::string path) {
  DatasetSpec spec;
  spec.name = "drawn";
  spec.format = format;
  spec.path = std::move(path);
  return spec;
}

std::string cifar_examples(Draws& draws, std::int64_t count) {
  std::string file;
  for (std::int64_t i = 0; i < count; ++i) {
    file += static_cast<char>(draws.below(10));
    file += draws.bytes(std::int64_t{32} * 32 * 3);
  }
  return file;
}

}  // namespace

DatasetSpec drawn_cifar(const TempFolder& folder, std::int64_t examples) {
  Draws draws;
  folder.write("data_batch_1.bin", cifar_examples(draws, examples));
  folder.write("test_batch.bin", cifar_examples(draws, test_examples));
  return spec_of("cifar", folder.path());
}

DatasetSpec drawn_lines(const TempFolder& folder, std::int64_t examples) {
  constexpr std::int64_t height = 32;
  constexpr std::int64_t width = 128;
  constexpr int text_length = 4;
  Draws draws;
  std::string train = "file,text\n";
  std::string test = train;
  for (std::int64_t i = 0; i < examples + test_examples; ++i) {
    const std::string name = "images/" + std::to_string(i) + ".pgm";
    folder.write(name, "P5 128 32 255\n" + draws.bytes(height * width));
    std::string text;
    for (int digit = 0; digit < text_length; ++digit) text += std::to_string(draws.below(10));
    (i < examples ? train : test) += name + "," + text + "\n";
  }
  DatasetSpec spec = spec_of("image_lines", folder.write("train.csv", train));
  spec.test_path = folder.write("test.csv", test);
  spec.height = height;
  spec.width = width;
  spec.channels = 1;
  spec.sequence.alphabet = "0123456789";
  return spec;
}

DatasetSpec drawn_tokens(const TempFolder& folder, std::int64_t examples) {
  constexpr std::int64_t length = 128;
  constexpr std::int64_t vocabulary = 96;
  constexpr std::int64_t test_windows = test_examples;
  const std::int64_t windows = examples + test_windows;
  Draws draws;
  std::string file;
  for (std::int64_t i = 0; i <= windows * length; ++i) {  // the last window's last label, too
    file += static_cast<char>(draws.below(vocabulary));
    file += '\0';  // the upper byte of 16 bits
  }
  DatasetSpec spec = spec_of("tokens", folder.write("tokens.u16", file));
  spec.test_fraction = static_cast<double>(test_windows) / static_cast<double>(windows);
  spec.sequence.length = length;
  spec.sequence.storage = TokenStorage::u16;
  spec.sequence.vocabulary = vocabulary;
  return spec;
}

}  // namespace trainyard::bench
