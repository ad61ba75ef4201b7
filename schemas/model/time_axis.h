// Which layers' values have the data set's own time axis: there the lengths of its examples count.
// Whoever computes a model asks here: the runtime, and an export to another format.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/model/analysis.h"

namespace trainyard::model {

// Whether the first axis of the layer's value is the data set's time: that of ids [time], or of
// features [time, features], step for step. Not behind what moves steps, as reshape or transpose.
bool follows_data_time(const Analysis& analysis, std::size_t layer);

// Whether the data set's sequences are so long. Keys of another time, such as a strided
// convolution's, are all there, whatever the lengths.
bool is_time_of_data(const Analysis& analysis, std::int64_t time);

}  // namespace trainyard::model
