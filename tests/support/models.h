// Models of the zoo as tests write them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schemas/model/written.h"

namespace trainyard::models {

inline model::ZooCall zoo(std::string name, model::Arguments arguments = {}) {
  return {.name = std::move(name), .arguments = std::move(arguments)};
}

inline model::Value widths(const std::vector<std::int64_t>& hidden) {
  return model::Value::List(hidden.begin(), hidden.end());
}

inline model::Value init(const char* name, double stddev) {
  return model::Value::Object{{"name", name}, {"stddev", stddev}};
}

inline model::ZooCall mlp(const std::vector<std::int64_t>& hidden,
                          const std::string& activation = "sigmoid") {
  return zoo("mlp", {{"hidden", widths(hidden)}, {"activation", activation}});
}

// Of a call of the zoo: puts the argument, in place of the one of its name.
inline void set_argument(model::Written& written, const std::string& name, model::Value value) {
  auto& arguments = std::get<model::ZooCall>(written).arguments;
  std::erase_if(arguments, [&name](const model::Argument& each) { return each.name == name; });
  arguments.push_back({name, std::move(value)});
}

}  // namespace trainyard::models
