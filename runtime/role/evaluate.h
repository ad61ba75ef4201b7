// How well a model does on the test split of its data.
#pragma once

#include <map>
#include <span>
#include <string>

#include "runtime/data/dataset.h"
#include "runtime/model/model.h"
#include "runtime/role/row_exchange.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

using MetricValues = std::map<std::string, double>;  // by name

struct Evaluation {
  const Task& task;
  const Dataset& dataset;
  Model& model;
  ParameterPlace parameters;
  RowExchange* rows = nullptr;  // of the newest version; none: the model has no table
};

// "test_loss", the mean over all examples, and of a classification "test_accuracy". Nothing where
// there is no test split, or when asked to stop. An error comes with the task's cause: BAD_DATA of
// a split that cannot be read, PEER_LOST of rows.
Result<MetricValues> evaluate(const Evaluation& evaluation);

}  // namespace trainyard::runtime
