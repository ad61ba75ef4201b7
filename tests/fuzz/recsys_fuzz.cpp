// A file of categories and numbers, its ids by vocabulary or, where the first byte says so, by
// hash.
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::DataFolder folder;
  std::string_view text = fuzz::text_of(data, size);
  DatasetSpec spec;
  spec.name = "fuzzed";
  spec.format = "recsys";
  spec.label_column = "0";
  spec.recsys = {.numeric = {"1"},
                 .fields = {{.field = "both", .columns = {"2", "3"}},
                            {.field = "one", .columns = {"3"}, .is_single = true}},
                 .has_label = true};
  const bool is_hashed = text.starts_with('h');
  (is_hashed ? spec.recsys.hash_buckets : spec.recsys.vocabulary) = 5;
  if (is_hashed) text.remove_prefix(1);
  spec.path = folder.write("columns", text);
  fuzz::read_all(spec);
  return 0;
}
