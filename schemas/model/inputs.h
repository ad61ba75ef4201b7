// The inputs of a model: fields of the data set, under the names that the model gives them.
#pragma once

#include <string>

#include "schemas/model/expand.h"

namespace trainyard::model {

// Adds them to the expansion as its first layers.
void add_inputs(const Model& model, const Facts& facts, const std::string& pointer,
                Expansion& expansion, FaultList& faults);

}  // namespace trainyard::model
