// What a data set's spec tells of it before any of its files is read.
#pragma once

#include "schemas/model/facts.h"
#include "schemas/types/job_spec.h"

namespace trainyard {

// What is known of the data set without its files: all of synthetic_digits, of the others their
// kind, and sizes where the spec tells them.
model::Facts facts_of(const DatasetSpec& spec);

// Whether its examples are sequences of their own lengths, padded to one.
bool has_lengths(const DatasetSpec& spec);

}  // namespace trainyard
