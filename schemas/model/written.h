// The model language as a user writes it (ARCHITECTURE.md, models): values that are a JSON document
// turned into C++, and nothing decided yet. schemas/wire/model_json reads and prints it, the zoo
// makes it, expand.h spells it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard::model {

// What the language allows, whatever is written.
inline constexpr std::int64_t layers_max = 4096;  // after expansion
inline constexpr std::size_t text_bytes_max = std::size_t{64} * 1024;
inline constexpr std::size_t rank_max = 6;
inline constexpr std::int64_t repeat_max = 1024;
inline constexpr std::size_t nesting_max = 16;  // lists within lists, blocks within blocks
inline constexpr std::size_t name_letters_max = 64;

// [a-z][a-z0-9_]{0,63}: names of layers, inputs, blocks, parameters, definitions.
bool is_name(std::string_view text);

struct Argument;

// A number, a bool, a text ("same", "classes", "$name"), a list, or an object (an initialiser).
// Comparisons leave `from` out, here and below.
struct Value {
  using List = std::vector<Value>;
  using Object = std::vector<Argument>;
  std::variant<double, bool, std::string, List, Object> is;
  std::string from;  // made by the zoo: the argument that it comes from ("depth")

  Value();
  Value(double number);        // NOLINT: implicit on purpose, as all of these
  Value(int number);           // NOLINT
  Value(std::int64_t number);  // NOLINT
  Value(bool flag);            // NOLINT
  Value(const char* text);     // NOLINT
  Value(std::string text);     // NOLINT
  Value(List list);            // NOLINT
  Value(Object object);        // NOLINT
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  const std::string* text() const { return std::get_if<std::string>(&is); }
  const double* number() const { return std::get_if<double>(&is); }
  const bool* flag() const { return std::get_if<bool>(&is); }
  const List* list() const { return std::get_if<List>(&is); }
  const Object* object() const { return std::get_if<Object>(&is); }
};
bool operator==(const Value& left, const Value& right);

struct Argument {
  std::string name;
  Value value;
  bool operator==(const Argument&) const = default;
};
using Arguments = std::vector<Argument>;
const Value* find(const Arguments& arguments, std::string_view name);

struct Layer;
using Layers = std::vector<Layer>;

// {"op": …} or the op's name alone. Which ops there are, ops.h says.
struct OpLayer {
  std::string op;
  bool operator==(const OpLayer&) const = default;
};
// {"repeat": times, "layers": [...]}: `times` a number or "$name".
struct RepeatLayer {
  Value times;
  Layers layers;
};
bool operator==(const RepeatLayer& left, const RepeatLayer& right);
// {"residual": [...], "shortcut": [...]}
struct ResidualLayer {
  Layers layers;
  Layers shortcut;  // none: x itself
};
bool operator==(const ResidualLayer& left, const ResidualLayer& right);
// {"use": block}; its parameters are the layer's arguments.
struct UseLayer {
  std::string block;
  bool operator==(const UseLayer&) const = default;
};

struct Layer {
  std::variant<OpLayer, RepeatLayer, ResidualLayer, UseLayer> what;
  std::string name = {};             // "" = unnamed
  std::vector<std::string> in = {};  // names of inputs and earlier layers, "-"; none = "-"
  // All other fields as they were written, "init", "freeze" and "recompute" among them.
  Arguments arguments = {};
  std::string from = {};  // as a value's
};
bool operator==(const Layer& left, const Layer& right);

// A loss or a metric: {"op": …, "in": …, "target": …, its arguments} or its name alone.
struct Term {
  std::string op;
  std::vector<std::string> in = {};  // none: the last layer
  std::string target = {};           // a field of the data set; "" = its label
  Arguments arguments = {};          // "weight" of a loss among them
  bool operator==(const Term&) const = default;
};

struct Block {
  std::string name;
  std::vector<std::string> parameters = {};
  Layers layers = {};
  bool operator==(const Block&) const = default;
};

struct Input {
  std::string name;   // in the model
  std::string field;  // of the data set
  bool operator==(const Input&) const = default;
};

struct Definition {
  std::string name;
  double value = 0;
  bool operator==(const Definition&) const = default;
};

// {"layers": [...], ...}
struct Model {
  std::vector<Input> inputs = {};  // none: the data set's fields under their own names
  std::vector<Definition> define = {};
  std::vector<Block> blocks = {};
  std::optional<Value> init = {};  // of all kernels that say nothing else
  Layers layers = {};
  std::vector<Term> losses = {};
  bool loss_is_list = false;  // written as [loss…]: places are "/loss/0", not "/loss"
  std::vector<Term> metrics = {};
};
bool operator==(const Model& left, const Model& right);

// "name" or {"name": …, its arguments}: a model of the zoo.
struct ZooCall {
  std::string name;
  Arguments arguments = {};
  bool is_short = false;  // written as "name": its place is that of the model itself
};
bool operator==(const ZooCall& left, const ZooCall& right);

// The whole of a job's "model".
using Written = std::variant<Model, ZooCall>;

// Spelling for the zoo and for tests: `op("conv2d", {{"filters", 64}, {"kernel", 3}})`.
Layer op(std::string name, Arguments arguments = {});
Layer repeat(Value times, Layers layers);
Layer residual(Layers layers);
Layer residual(Layers layers, Layers shortcut);
Layer use(std::string block, Arguments parameters = {});
Layer named(std::string name, Layer layer);
Layer reading(std::vector<std::string> in, Layer layer);
Value from(std::string argument, Value value);  // a value that a fault is to point to as its cause
Layer from(std::string argument, Layer layer);

}  // namespace trainyard::model
