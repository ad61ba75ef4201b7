// Which layers' values have the data set's own time axis: there the lengths of its examples count.
#pragma once

#include <cstddef>

#include "schemas/model/analysis.h"

namespace trainyard::runtime {

// Whether the first axis of the layer's value is the data set's time: that of ids [time], or of
// features [time, features], step for step. Not behind what moves steps, as reshape or transpose.
bool follows_data_time(const model::Analysis& analysis, std::size_t layer);

}  // namespace trainyard::runtime
