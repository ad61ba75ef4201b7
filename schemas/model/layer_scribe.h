// What the rule of an op reads and writes while one layer is analysed: its inputs and arguments on
// one side, its shape, variables and costs on the other. All sizes may be unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/model/analysis.h"
#include "schemas/model/expand.h"
#include "schemas/model/given.h"
#include "schemas/model/init.h"
#include "schemas/model/layer_costs.h"
#include "schemas/model/op_rule.h"
#include "schemas/model/shape.h"

namespace trainyard::model {

class Analyser;

// "numbers", "ids", "sparse rows"
std::string_view noun_of(ElementKind kind);

// A variable with a choice of how it starts.
struct KernelWish {
  std::string suffix = "kernel";
  Sizes shape;
  Fans fans;
  Value standard;                      // the initialiser where nobody names one
  std::string_view argument = "init";  // that names it
  VariableRole role = VariableRole::parameter;
};

class LayerScribe {
 public:
  LayerScribe(Analyser& analyser, const OpRule& rule, const FlatLayer& flat,
              std::vector<std::size_t> in, Given given);

  // What is known.
  [[nodiscard]] const std::string& op() const { return layer_.op; }
  [[nodiscard]] const std::vector<std::size_t>& in() const { return in_; }  // positions
  [[nodiscard]] const MaybeShape& shape(std::size_t input) const;
  [[nodiscard]] ElementKind kind(std::size_t input) const;
  [[nodiscard]] std::int64_t ids(std::size_t input) const;        // of an input of ids: how many
  [[nodiscard]] std::string input_name(std::size_t input) const;  // quoted
  [[nodiscard]] Given& given() { return given_; }
  [[nodiscard]] const FlatLayer& flat() const { return flat_; }

  // Whether "init", of the layer or of the model, is "torch".
  [[nodiscard]] bool starts_as_torch() const;

  // What is wrong. `argument`: "" = the layer.
  void fault(std::string_view argument, std::string message);
  void fault_below(std::string_view pointer, std::string message);
  // Whether the input has so many axes, as far as is known; `form`: "[time, features]".
  bool has_rank(std::size_t input, std::size_t least, std::size_t most, std::string_view form);
  // The last size of an input, which has one axis or more.
  [[nodiscard]] std::int64_t last_size(std::size_t input) const;

  // The kernel [in, out] is another layer's, where "tie" says so and it is right. `shape` as it
  // would be; a layer of ids is tied to transposed. False: the layer is to have its own.
  bool ties_kernel(const Sizes& shape);
  [[nodiscard]] const MaybeShape& given_shape() const { return layer_.shape; }

  // What follows.
  void gives(MaybeShape shape, ElementKind kind = ElementKind::number);
  void adds_kernel(const KernelWish& wish);
  void adds_bias(std::string_view suffix, std::int64_t size, Fans kernel_fans);
  void adds_fixed(std::string_view suffix, Sizes shape, Start start,
                  VariableRole role = VariableRole::parameter);
  // Of a channel in one example; batch norm takes the variance of those of a micro-batch.
  void needs_values_in_micro_batch(Count values);
  LayerCosts& costs() { return costs_; }

  // For ops that are spelled out: a layer "<name>/<suffix>", by its position; the last is the one
  // whose value the op gives.
  std::size_t spell(std::string_view op, std::string_view suffix, std::vector<std::size_t> in,
                    Arguments arguments);

  // Of the analysis: what was written, put into it. The position of the layer.
  std::size_t finish();

 private:
  [[nodiscard]] const Value* init_of(const KernelWish& wish) const;

  Analyser& analyser_;
  const OpRule& rule_;
  const FlatLayer& flat_;
  std::vector<std::size_t> in_;
  Given given_;
  AnalysedLayer layer_;
  std::optional<Value> kernel_init_;
  LayerCosts costs_;
  std::optional<std::size_t> stands_for_;
};

// Whether it was written, right or wrong.
bool names_argument(const LayerScribe& layer, std::string_view name);

}  // namespace trainyard::model
