// The texts of a data set and their labels, before they are tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/class_folders.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// Examples for training first, those of the test behind them.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::int64_t train = 0;
  std::int64_t classes = 0;                // 0: targets
  std::vector<std::int32_t> labels;        // of each text, or none
  std::vector<float> targets;              // of each text where there are no labels
  std::vector<std::string> class_names{};  // as DataShape has them
};

// Of spec.path, a CSV file.
Result<LabelledTexts> read_csv_texts(const DatasetSpec& spec, std::uint64_t seed);

// Of the files of folders.
Result<LabelledTexts> read_folder_texts(const DatasetSpec& spec, const ClassFolders& folders);

}  // namespace trainyard::runtime
