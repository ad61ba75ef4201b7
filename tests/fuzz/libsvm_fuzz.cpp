// A LibSVM file, with a share of it as the test split or, where the first byte says so, with a test
// file of its own.
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::DataFolder folder;
  std::string_view text = fuzz::text_of(data, size);
  DatasetSpec spec;
  spec.name = "fuzzed";
  spec.format = "libsvm";
  if (text.starts_with('t')) spec.test_path = folder.write("test", fuzz::take_line(text).substr(1));
  spec.path = folder.write("train", text);
  fuzz::read_all(spec);
  return 0;
}
