// A CSV file. Its first line is the label column that the job asks for.
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::DataFolder folder;
  std::string_view text = fuzz::text_of(data, size);
  DatasetSpec spec;
  spec.name = "fuzzed";
  spec.format = "csv";
  spec.label_column = std::string(fuzz::take_line(text));
  spec.path = folder.write("data.csv", text);
  fuzz::read_all(spec);
  return 0;
}
