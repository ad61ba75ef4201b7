// What the writer of one layer's op works with: the analysed layer, the tensors that it reads, its
// variables, and the graph.
//
// A value of an image lies as Trainyard has it, channels last, or as ONNX's convolutions and pools
// have it, channels first. It is moved only where a layer needs the other order, so that a stretch
// of image layers has a Transpose at its begin and one at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/model/analysis.h"
#include "schemas/onnx/graph_scribe.h"

namespace trainyard::onnx {

// A layer's value by the names of its tensors, of which one or both are there.
struct LayerValue {
  std::string last;   // channels last
  std::string first;  // channels first: [batch, channels, ..]
};

// What all layers of a model share.
struct ModelWriter {
  const model::Analysis& analysis;
  GraphScribe graph = {};
  std::vector<LayerValue> values = {};  // by layer
  std::string lengths = {};             // the input [batch] of int32; "": all examples are full
};

class LayerWriter {
 public:
  LayerWriter(ModelWriter& model, const model::AnalysedLayer& layer)
      : model_(model), layer_(layer) {}

  [[nodiscard]] const model::AnalysedLayer& layer() const { return layer_; }
  [[nodiscard]] const model::Analysis& analysis() const { return model_.analysis; }
  [[nodiscard]] GraphScribe& graph() { return model_.graph; }

  // What it reads. Shapes are of one example.
  [[nodiscard]] std::size_t inputs() const { return layer_.in.size(); }
  [[nodiscard]] const model::Sizes& shape(std::size_t input = 0) const;
  [[nodiscard]] const model::Sizes& output_shape() const { return *layer_.shape; }
  std::string last(std::size_t input = 0);   // the tensor, channels last
  std::string first(std::size_t input = 0);  // channels first
  // Whether only that is there, so that it is better read so.
  [[nodiscard]] bool is_first(std::size_t input = 0) const;
  [[nodiscard]] const LayerValue& value(std::size_t input = 0) const;
  // "" where the data has no lengths, or those of this input are others.
  [[nodiscard]] std::string lengths_of_x() const;
  [[nodiscard]] std::string lengths_of_time(std::int64_t time) const;

  // The op's arguments, with all defaults: what is missing is our own mistake.
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] Integers integers(std::string_view name) const;  // none where it is not there

  // Its variables, by what follows the layer's name.
  [[nodiscard]] bool has_variable(std::string_view suffix) const;
  [[nodiscard]] const model::Variable& variable(std::string_view suffix) const;
  std::string weight(std::string_view suffix);                  // as it is
  std::string weight(const model::Variable& variable);          // likewise, of another layer
  std::string weight(std::string_view suffix, Weight changed);  // named after the variable too

  // A node of the layer; the name of what it gives.
  std::string add(const std::string& op, Texts inputs, Attributes attributes = {});
  std::string add_reshape(const std::string& x, const Integers& example);  // keeps the batch

  // What the layer gives: the tensor that was made last is named after it.
  void gives_last(const std::string& tensor);
  void gives_first(const std::string& tensor);
  void gives_same(std::size_t input);  // the layer changes nothing
  [[nodiscard]] LayerValue result() const { return result_; }

 private:
  ModelWriter& model_;
  const model::AnalysedLayer& layer_;
  LayerValue result_;
};

// The order of the axes of a batch whose examples have so many.
Integers to_channels_first(std::size_t rank);
Integers to_channels_last(std::size_t rank);

}  // namespace trainyard::onnx
