// What "$name" stands for: parameters of the block, then the model's definitions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schemas/model/fault_list.h"
#include "schemas/model/written.h"

namespace trainyard::model {

// By name, once for the whole model: a block may be used thousands of times.
using Definitions = std::unordered_map<std::string_view, double>;

class Bindings {
 public:
  // Of the model's own layers. The definitions must outlive it.
  explicit Bindings(const Definitions& definitions) : definitions_(&definitions) {}

  // Of a block's use: `given` has no "$name" any more. What the block names and `given` does not
  // has no value. `use_pointer`: of the layer that uses it. The block must outlive it.
  [[nodiscard]] Bindings within(const Block& block, Arguments given, std::string use_pointer) const;

  // The value without any "$name"; each that has no value is noted at `below` of the place.
  [[nodiscard]] std::optional<Value> replace(const Value& value, const Place& place,
                                             const std::string& below, FaultList& faults) const;

 private:
  [[nodiscard]] bool is_parameter(std::string_view name) const;
  [[nodiscard]] std::optional<Value> find_value(std::string_view name) const;
  [[nodiscard]] std::string missing_text(std::string_view name) const;

  const Definitions* definitions_;
  Arguments values_;
  const Block* block_ = nullptr;
  std::string use_pointer_;
};

}  // namespace trainyard::model
