// The four files of an IDX data set, each after its length in two bytes, little-endian; the last is
// the rest.
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

namespace {

std::string_view take_file(std::string_view& rest) {
  if (rest.size() < 2) return std::exchange(rest, {});
  const std::size_t length =
      static_cast<std::uint8_t>(rest[0]) + 256U * static_cast<std::uint8_t>(rest[1]);
  const std::string_view file = rest.substr(2, length);
  rest.remove_prefix(2 + file.size());
  return file;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::DataFolder folder;
  std::string_view rest = fuzz::text_of(data, size);
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"}) {
    folder.write(name, take_file(rest));
  }
  folder.write("t10k-labels-idx1-ubyte", rest);
  DatasetSpec spec;
  spec.name = "fuzzed";
  spec.format = "idx";
  spec.path = folder.path();
  fuzz::read_all(spec);
  return 0;
}
