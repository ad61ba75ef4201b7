// The arguments of the zoo's models: how a call's are checked, and those that several models have.
#pragma once

#include <string_view>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/zoo/zoo.h"

namespace trainyard::model {

// Where a call stands in its document, and where faults with it are noted.
struct CallPlace {
  std::string_view pointer;  // "/model"
  std::vector<Fault>& faults;
};

// All arguments of the model, by the call or by default; those at fault have their default.
ZooArguments check_arguments(const ZooModel& zoo_model, const Arguments& given,
                             const CallPlace& place);

// Of layers' widths. 65,536 is the most of any layer's units.
inline constexpr double width_max = 65'536;

ZooArgument integer_argument(std::string_view name, std::string_view description, int standard,
                             double most);  // from 1
ZooArgument flag_argument(std::string_view name, std::string_view description, bool standard);
ZooArgument rate_argument(std::string_view name, std::string_view description,
                          double standard);  // from 0 to 0.95
ZooArgument widths_argument(std::string_view name, std::string_view description,
                            Value::List standard);
ZooArgument choice_argument(std::string_view name, std::string_view description,
                            std::vector<std::string_view> choices);  // the first is the default
ZooArgument weight_init_argument(Value standard);
ZooArgument label_smoothing_argument(double standard);

// The fields of layers that several families write.
Layer dense_layer(Value units);  // no activation
Layer dense_layer(Value units, Value activation);
Term classification_loss(const ZooArguments& arguments);  // with label_smoothing where it is not 0
// A dropout layer, or none where nothing is dropped.
void add_dropout(Layers& layers, const Value& rate);

}  // namespace trainyard::model
