// Data sets as files of a fuzzer's bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/dataset.h"
#include "tests/support/temp_folder.h"

namespace trainyard::fuzz {

// A folder in memory that this process alone uses, gone with it.
struct DataFolder : TempFolder {
  DataFolder();
};

// Opens the data set and reads a batch of each split. Every label is a class of the shape, every
// column one of its features.
void read_all(const DatasetSpec& spec);

}  // namespace trainyard::fuzz
