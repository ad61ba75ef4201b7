#include "runtime/model/layers/layer_context.h"

#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"
#include "schemas/model/data_time.h"

namespace trainyard::runtime {
namespace {

const model::Value& argument(const model::Arguments& arguments, std::string_view name) {
  const model::Value* const value = model::find(arguments, name);
  ENSURE(value != nullptr);
  return *value;
}

}  // namespace

const std::string& text_argument(const model::Arguments& arguments, std::string_view name) {
  const std::string* const text = argument(arguments, name).text();
  ENSURE(text != nullptr);
  return *text;
}

double number_argument(const model::Arguments& arguments, std::string_view name) {
  const double* const number = argument(arguments, name).number();
  ENSURE(number != nullptr);
  return *number;
}

std::int64_t integer_argument(const model::Arguments& arguments, std::string_view name) {
  return static_cast<std::int64_t>(number_argument(arguments, name));
}

bool flag_argument(const model::Arguments& arguments, std::string_view name) {
  const bool* const flag = argument(arguments, name).flag();
  ENSURE(flag != nullptr);
  return *flag;
}

std::vector<std::int64_t> integers_argument(const model::Arguments& arguments,
                                            std::string_view name) {
  const model::Value* const value = model::find(arguments, name);
  if (value == nullptr || value->list() == nullptr) return {};
  std::vector<std::int64_t> integers;
  for (const model::Value& item : *value->list()) {
    ENSURE(item.number() != nullptr);
    integers.push_back(static_cast<std::int64_t>(*item.number()));
  }
  return integers;
}

Shape shape_of(const model::Sizes& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }

namespace {

// Where the layer's variable of this name is in the analysis.
const std::size_t* find_variable(const model::Analysis& analysis, const model::AnalysedLayer& layer,
                                 std::string_view name) {
  for (const std::size_t& index : layer.variables) {
    const std::string& whole = analysis.variables[index].name;
    if (whole.ends_with(name) && whole[whole.size() - name.size() - 1] == '/') return &index;
  }
  return nullptr;
}

}  // namespace

bool LayerContext::has_variable(std::string_view name) const {
  return find_variable(model_.analysis, layer_, name) != nullptr;
}

NodeId LayerContext::variable(std::string_view name) const {
  const std::size_t* const index = find_variable(model_.analysis, layer_, name);
  ENSURE(index != nullptr);
  return model_.variables.at(*index);
}

const model::Variable& LayerContext::analysed_variable(std::string_view name) const {
  const std::size_t* const index = find_variable(model_.analysis, layer_, name);
  ENSURE(index != nullptr);
  return model_.analysis.variables[*index];
}

IdField LayerContext::id_field() const {
  const auto is_of_ids = [](const model::Field& each) {
    return each.kind == model::ElementKind::id;
  };
  // All that a batch has, whatever the length that it is padded to.
  if (std::ranges::count_if(model_.facts.fields, is_of_ids) == 1) return {};
  IdField field{.before = 0, .columns = output_shape().elements()};
  for (const model::Field& each : model_.facts.fields) {
    if (!is_of_ids(each)) continue;
    if (each.name == text("field")) return field;
    field.before += shape_of(*each.shape).elements();
  }
  ENSURE(false);
  return field;
}

LayerContext::Numbers LayerContext::numbers() const {
  Numbers numbers;
  for (const model::Field& each : model_.facts.fields) {
    if (each.kind != model::ElementKind::number) continue;
    if (each.name == text("field")) numbers.before = numbers.all;
    numbers.all += shape_of(*each.shape).elements();
  }
  return numbers;
}

bool LayerContext::x_has_lengths() const {
  return model::follows_data_time(model_.analysis, layer_.in.front());
}

// Features are the batch's own memory, which has any shape of as many numbers.
NodeId LayerContext::reshaped(NodeId id, const Shape& to) {
  if (shape(id) == to) return id;
  if (std::holds_alternative<FeaturesOp>(node(id).op)) return graph().add_features(to);
  return add(ReshapeOp{to}, {id});
}

NodeId LayerContext::activated(NodeId id) {
  const std::string& name = text("activation");
  if (name == "none") return id;
  // As the layer of this name, whose arguments have their defaults here.
  return add(ActivationOp{activation_of(name)}, {id});
}

}  // namespace trainyard::runtime
