// Job specs that are right and wrong, for the parser and for the JSON Schema alike.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

struct SpecCase {
  std::string text;
  std::vector<std::string>
      pointers;  // of the faults that parsing must list, all of them; none = a good spec
  // What a schema cannot say: sums over the document, keys given twice.
  enum class Schema { says_the_same, cannot_say } schema = Schema::says_the_same;
};

std::vector<SpecCase> good_specs();
// Those of data sets of images, which are among them (image_corpus.cpp).
std::vector<SpecCase> good_images();
std::vector<SpecCase> bad_images();
// Those of data sets of sequences (sequence_corpus.cpp). The bad ones are among the others; of the
// good ones nothing is wrong, but models of them may not be there yet.
std::vector<SpecCase> good_sequences();
std::vector<SpecCase> bad_sequences();
std::vector<SpecCase> bad_columns();  // of recsys
// Those of what is asked of GPUs (gpu_corpus.cpp), which are among them.
std::vector<SpecCase> good_gpus();
std::vector<SpecCase> bad_gpus();
std::vector<SpecCase> bad_specs();
// Those of them whose models are lists of layers.
std::vector<SpecCase> good_layers();
std::vector<SpecCase> bad_layers();

}  // namespace trainyard
