// Arguments of an analysed layer, loss or metric, which are right and whole by then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/check.h"
#include "schemas/model/analysis.h"

namespace trainyard::runtime {

template <class Item>
const std::string& text_argument(const Item& item, std::string_view name) {
  const model::Value* const value = model::find(item.arguments, name);
  ENSURE(value != nullptr && value->text() != nullptr);
  return *value->text();
}

template <class Item>
std::optional<double> number_argument(const Item& item, std::string_view name) {
  const model::Value* const value = model::find(item.arguments, name);
  return value == nullptr || value->number() == nullptr ? std::nullopt
                                                        : std::optional(*value->number());
}

}  // namespace trainyard::runtime
