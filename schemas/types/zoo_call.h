// A spec's model as a call of the zoo.
#pragma once

#include "schemas/model/written.h"
#include "schemas/types/job_spec.h"

namespace trainyard {

model::ZooCall zoo_call_of(const ModelSpec& spec);

}  // namespace trainyard
