// Writes an ONNX graph node by node: names that come once, constants, and the weights that the
// graph reads.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/model/facts.h"
#include "schemas/onnx/onnx_proto.h"
#include "schemas/onnx/weight.h"

namespace trainyard::onnx {

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, Integers, Texts> value;
};
using Attributes = std::vector<Attribute>;

struct NodeWish {
  std::string op;  // "Conv"
  Texts inputs;    // "" is an input that is left out
  Attributes attributes = {};
};

class GraphScribe {
 public:
  // The name, or the name and a number where it was given away before.
  std::string unique(const std::string& name);

  // The names of what the node gives, the first of which begins as asked for.
  std::string add(const NodeWish& wish, const std::string& output);
  Texts add(const NodeWish& wish, const Texts& outputs);
  // What the newest node gives gets another name, if that is free: nobody may read it yet.
  std::string renamed(const std::string& from, const std::string& to);

  // Initializers; equal ones are one. `name` is a hint.
  std::string scalar(double value);
  std::string numbers(const std::string& name, const Floats& values, const Integers& shape);
  std::string integers(const std::string& name, const Integers& values, const Integers& shape);
  std::string int32s(const std::string& name, const Integers& values, const Integers& shape);
  std::string list(const Integers& values) {  // [size], for shapes, axes and the like
    return integers("list", values, {static_cast<std::int64_t>(values.size())});
  }
  std::string weight(Weight weight);  // by its name: the second one of a name is the first

  // Values of one example, and so of a batch whose size is open.
  std::string input(const std::string& name, const model::Sizes& example, int element_type);
  void output(const std::string& name, const model::Sizes& example);

  // Before a constant of so many numbers is made. Once it was false the graph counts as full.
  bool has_room_for(std::int64_t elements);
  [[nodiscard]] bool is_full() const { return is_full_; }

  [[nodiscard]] GraphProto& graph() { return graph_; }
  [[nodiscard]] std::vector<Weight> take_weights() { return std::move(weights_); }

 private:
  static constexpr std::int64_t constant_bytes_max = std::int64_t{64} << 20;  // of masks, tables

  std::string constant(TensorProto tensor, const std::string& name);

  GraphProto graph_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::string> constants_;  // by content
  std::vector<Weight> weights_;
  std::int64_t constant_bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace trainyard::onnx
