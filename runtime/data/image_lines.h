// Images of lines of text with the text each.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "runtime/data/file_images.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct LineAccess {
  FileAccess files = {};
  std::int64_t label_steps = 0;  // as of open_dataset()
};

// spec.path is a CSV file with a line for each image: its file, below the folder that the CSV file
// is in, and its text. The first line is a header where its cells are "file" and "text" among
// others; otherwise these are the first two columns. Texts are of spec.sequence.alphabet's
// characters. Images are scaled to spec.height; black pixels at the right make them spec.width
// wide, and one that would be wider is made narrower. spec.test_path is such a file of the test
// split; where it is "" a share of spec.test_fraction of spec.path's lines is drawn by `seed`.
//
// A text that needs more time steps than access.label_steps is `invalid`, or left out, as
// spec.sequence.impossible says, before the splits are drawn.
Result<std::unique_ptr<Dataset>> open_image_lines(const DatasetSpec& spec, std::uint64_t seed,
                                                  const LineAccess& access = {});

}  // namespace trainyard::runtime
