// Which layers' values have the data set's own time axis, where the lengths of its examples count,
// and which layers see what lies beyond an example's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/analysis.h"

namespace trainyard::model {

// Whether the first axis of the layer's value is the data set's time: that of ids [time], or of
// features [time, features], step for step. Not behind what moves steps, as reshape or transpose.
bool follows_data_time(const Analysis& analysis, std::size_t layer);

// Whether the data set's sequences are so long. Keys of another time, such as a strided
// convolution's, are all there, whatever the lengths.
bool is_time_of_data(const Analysis& analysis, std::int64_t time);

// What of a model is in the way of padding its examples to one of several lengths, each at
// `pointer`: of a layer that sees the padding the value would depend on which of them it is.
std::vector<Fault> faults_of_buckets(const Analysis& analysis, const std::string& pointer);

}  // namespace trainyard::model
