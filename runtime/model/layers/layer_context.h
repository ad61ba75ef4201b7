// What a layer's builder works with: the analysed layer, the nodes that it reads, its variables,
// and the graph that it writes into. Everything was checked before (schemas/model): what is missing
// here is our own mistake.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/model_builder.h"
#include "schemas/model/analysis.h"

namespace trainyard::runtime {

// Numbers of an analysed layer, loss or metric, by name; ENSURE that they are there.
const std::string& text_argument(const model::Arguments& arguments, std::string_view name);
double number_argument(const model::Arguments& arguments, std::string_view name);
std::int64_t integer_argument(const model::Arguments& arguments, std::string_view name);
bool flag_argument(const model::Arguments& arguments, std::string_view name);
// None where the argument is not there.
std::vector<std::int64_t> integers_argument(const model::Arguments& arguments,
                                            std::string_view name);

Shape shape_of(const model::Sizes& sizes);

class LayerContext {
 public:
  // What all layers of a model share.
  struct Model {
    const model::Analysis& analysis;
    const model::Facts& facts;
    ModelBuilder& builder;
    const std::map<std::size_t, NodeId>& variables;  // by position in the analysis
    std::uint32_t dropouts = 0;                      // so far
  };

  LayerContext(Model& model, const model::AnalysedLayer& layer, std::vector<NodeId> in)
      : model_(model), layer_(layer), in_(std::move(in)) {}

  [[nodiscard]] const model::AnalysedLayer& layer() const { return layer_; }
  [[nodiscard]] const model::Analysis& analysis() const { return model_.analysis; }
  [[nodiscard]] const std::vector<NodeId>& in() const { return in_; }
  [[nodiscard]] NodeId x() const { return in_.front(); }
  [[nodiscard]] const Node& node(NodeId id) const { return graph().nodes()[id]; }
  [[nodiscard]] const Shape& shape(NodeId id) const { return node(id).shape; }
  [[nodiscard]] Shape output_shape() const { return shape_of(*layer_.shape); }

  // "kernel" of "conv2d_0/kernel"; where the layer has it.
  [[nodiscard]] bool has_variable(std::string_view name) const;
  [[nodiscard]] NodeId variable(std::string_view name) const;
  [[nodiscard]] const model::Variable& analysed_variable(std::string_view name) const;
  [[nodiscard]] NodeId tied() const { return model_.variables.at(*layer_.tied_to); }

  // Of an input of ids: where a batch has them.
  [[nodiscard]] IdField id_field() const;

  // Of an input of numbers: where a batch's features have them.
  struct Numbers {
    std::int64_t before = 0;
    std::int64_t all = 0;
  };
  [[nodiscard]] Numbers numbers() const;

  // x's time is the data set's, whose lengths are x's then.
  [[nodiscard]] bool x_has_lengths() const;

  [[nodiscard]] const std::string& text(std::string_view name) const {
    return text_argument(layer_.arguments, name);
  }
  [[nodiscard]] double number(std::string_view name) const {
    return number_argument(layer_.arguments, name);
  }
  [[nodiscard]] std::int64_t integer(std::string_view name) const {
    return integer_argument(layer_.arguments, name);
  }
  [[nodiscard]] bool flag(std::string_view name) const {
    return flag_argument(layer_.arguments, name);
  }
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const {
    return integers_argument(layer_.arguments, name);
  }

  NodeId add(const Op& op, std::vector<NodeId> inputs) {
    return graph().add(op, std::move(inputs), layer_.recompute_block);
  }
  NodeId add(const Op& op) { return add(op, in_); }
  // The node itself where it has the shape.
  NodeId reshaped(NodeId id, const Shape& to);
  NodeId activated(NodeId id);  // by the argument "activation"
  Graph& graph() { return model_.builder.graph; }
  [[nodiscard]] const Graph& graph() const { return model_.builder.graph; }
  ModelBuilder& builder() { return model_.builder; }
  // A number of its own for each dropout of a model.
  std::uint32_t next_dropout() { return model_.dropouts++; }

 private:
  Model& model_;
  const model::AnalysedLayer& layer_;
  std::vector<NodeId> in_;
};

}  // namespace trainyard::runtime
