#include "schemas/model/inputs.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/json_pointer.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

void add_input(const std::string& name, const Field* field, std::string pointer,
               Expansion& expansion) {
  const std::size_t position = expansion.layers.size();
  // The others are counted from 1.
  expansion.layers.push_back(
      {.name = name, .op = "input", .place = {.pointer = std::move(pointer)}, .field = field});
  expansion.by_name.emplace(name, position);
}

const Field* find_field(const Facts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts.fields, name, &Field::name);
  return found == facts.fields.end() ? nullptr : &*found;
}

std::string fields_text(const Facts& facts) {
  std::vector<std::string_view> names;
  for (const Field& field : facts.fields) names.emplace_back(field.name);
  return names.empty() ? "it has none" : "it has: " + listed(names);
}

}  // namespace

void add_inputs(const Model& model, const Facts& facts, const std::string& pointer,
                Expansion& expansion, FaultList& faults) {
  for (const Input& input : model.inputs) {
    const std::string place = child_pointer(child_pointer(pointer, "inputs"), input.name);
    if (!is_name(input.name)) {
      faults.add(place, "an input's name is 1 to 64 of a-z, 0-9 and _, with a letter first; got " +
                            quoted(input.name));
    }
    const Field* field = find_field(facts, input.field);
    if (field == nullptr && facts.fields_are_known && !faults.is_full()) {
      std::vector<std::string_view> names;
      for (const Field& one : facts.fields) names.emplace_back(one.name);
      faults.add(place, dataset_words(facts.dataset) + " has no field " + quoted(input.field) +
                            " (" + fields_text(facts) + ")" + meant(input.field, names));
    }
    add_input(input.name, field, place, expansion);
  }
  if (model.inputs.empty()) {
    for (const Field& field : facts.fields) {
      add_input(field.name, &field, child_pointer(pointer, "inputs"), expansion);
    }
    if (facts.fields.empty() && !facts.fields_are_known) {
      add_input("input", nullptr, child_pointer(pointer, "inputs"), expansion);
    }
  }
  expansion.inputs = expansion.layers.size();
}

}  // namespace trainyard::model
