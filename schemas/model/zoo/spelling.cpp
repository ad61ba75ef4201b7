// What several families of the zoo have alike: arguments and layers.
#include <utility>

#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {

ZooArgument integer_argument(std::string_view name, std::string_view description, int standard,
                             double most) {
  return {.name = name,
          .description = description,
          .kind = ArgumentKind::integer,
          .standard = standard,
          .least = 1,
          .most = most};
}

ZooArgument flag_argument(std::string_view name, std::string_view description, bool standard) {
  return {
      .name = name, .description = description, .kind = ArgumentKind::flag, .standard = standard};
}

ZooArgument rate_argument(std::string_view name, std::string_view description, double standard) {
  return {.name = name,
          .description = description,
          .kind = ArgumentKind::number,
          .standard = standard,
          .least = 0,
          .most = 0.95};
}

ZooArgument widths_argument(std::string_view name, std::string_view description,
                            Value::List standard) {
  constexpr std::size_t layers_of_widths_max = 64;
  return {.name = name,
          .description = description,
          .kind = ArgumentKind::integers,
          .standard = std::move(standard),
          .least = 1,
          .most = width_max,
          .items_max = layers_of_widths_max};
}

ZooArgument choice_argument(std::string_view name, std::string_view description,
                            std::vector<std::string_view> choices) {
  ZooArgument argument{.name = name,
                       .description = description,
                       .kind = ArgumentKind::choice,
                       .standard = std::string(choices.front())};
  argument.choices = std::move(choices);
  return argument;
}

ZooArgument weight_init_argument(Value standard) {
  return {.name = "weight_init",
          .description = "How kernels start that say nothing else",
          .kind = ArgumentKind::init,
          .standard = std::move(standard)};
}

ZooArgument label_smoothing_argument(double standard) {
  return rate_argument("label_smoothing", "The share of a label that all classes have alike",
                       standard);
}

Layer dense_layer(Value units) { return op("dense", {{"units", std::move(units)}}); }

Layer dense_layer(Value units, Value activation) {
  return op("dense", {{"units", std::move(units)}, {"activation", std::move(activation)}});
}

Term classification_loss(const ZooArguments& arguments) {
  Term loss{.op = "softmax_cross_entropy"};
  if (arguments.number("label_smoothing") > 0) {
    loss.arguments.push_back({"label_smoothing", arguments.value("label_smoothing")});
  }
  return loss;
}

void add_dropout(Layers& layers, const Value& rate) {
  if (*rate.number() > 0) layers.push_back(op("dropout", {{"rate", rate}}));
}

}  // namespace trainyard::model
