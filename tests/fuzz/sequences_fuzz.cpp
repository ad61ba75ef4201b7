// A file of texts, tokens, series or lines of text. Its first byte says which.
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

namespace {

DatasetSpec spec_of(std::uint8_t kind, const fuzz::DataFolder& folder, std::string_view text) {
  DatasetSpec spec;
  spec.name = "fuzzed";
  spec.sequence.length = 4;
  spec.sequence.tokenizer.name = TokenizerName::bytes;
  switch (kind % 7) {
    case 0:
    case 1:
      spec.format = "text";
      spec.label_column = "1";
      spec.sequence.text_column = "0";
      if (kind % 7 == 0) spec.sequence.tokenizer = {.vocabulary = 20};
      spec.path = folder.write("data.csv", text);
      break;
    case 2:
      spec.format = "tokens";
      spec.sequence.storage = TokenStorage::u16;
      spec.sequence.vocabulary = 1000;
      spec.path = folder.write("data.bin", text);
      break;
    case 3:
      spec.format = "tokens";
      spec.sequence.tokenizer = {.name = TokenizerName::bpe,
                                 .path = folder.write("tokenizer.json", text)};
      spec.path = folder.write("data.txt", "the dog doesn't mind; these bananas, 12 of them");
      break;
    case 4:
    case 5:
      spec.format = "sequences";
      spec.features = 2;
      spec.path = folder.write(kind % 7 == 4 ? "data.csv" : "data.jsonl", text);
      break;
    default:
      spec.format = "image_lines";
      spec.height = 2;
      spec.width = 3;
      spec.channels = 1;
      spec.sequence.alphabet = "abé";
      folder.write("one.pgm", "P5\n1 1\n255\nx");
      spec.path = folder.write("data.csv", text);
      break;
  }
  return spec;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::DataFolder folder;
  if (size == 0) return 0;
  fuzz::read_all(spec_of(data[0], folder, fuzz::text_of(data + 1, size - 1)));
  return 0;
}
