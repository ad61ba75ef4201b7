// The fields of a data set of categories and numbers in JSON.
#pragma once

#include "schemas/wire/job_spec_fields.h"

namespace trainyard {

void read_recsys_fields(Fields& fields, DatasetSpec& dataset);
void add_recsys_fields(const DatasetSpec& dataset, nlohmann::json& object);

}  // namespace trainyard
