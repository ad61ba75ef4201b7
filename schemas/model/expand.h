// The written model spelled out: repeats, residuals and blocks become a flat list of layers, each
// with its path for a name; "$name" is replaced, names of inputs and layers become positions. Knows
// no shapes.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "schemas/model/facts.h"
#include "schemas/model/fault_list.h"
#include "schemas/model/written.h"

namespace trainyard::model {

inline constexpr std::size_t no_layer = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t inputs_of_layer_max = 64;

struct FlatLayer {
  std::string name;  // "h/3/residual_0/attention_0"
  std::string op;    // "input": a field of the data set; "" = at fault, its value is unknown
  std::vector<std::size_t> in = {};      // positions among the flat layers; no_layer = at fault
  Arguments arguments = {};              // those that the op knows, without "$name"
  std::vector<std::string> broken = {};  // arguments that were noted already
  Place place = {};                      // for an input: of its entry in "inputs"
  std::optional<std::size_t> tied_to = {};
  std::optional<std::size_t> recompute_block = {};
  bool is_frozen = false;
  bool is_residual_sum = false;   // in: what its layers give, and the shortcut
  bool has_wrong_inputs = false;  // of a wrong number, which is noted; its arguments are read
  bool has_shortcut = false;      // of a residual sum: a written one
  const Field* field = nullptr;   // of an input; nothing: its shape is not known
};

// Where a loss or a metric looks for layers.
struct Expansion {
  std::vector<FlatLayer> layers;  // inputs first
  std::unordered_map<std::string, std::size_t> by_name;
  std::size_t last = no_layer;  // what the list of the model ends with
  std::size_t inputs = 0;
  bool is_whole = false;  // false: it was given up at the limit of layers
};

// At most layers_max layers of any nesting, in time linear in them and in the text.
Expansion expand(const Model& model, const Facts& facts, const std::string& pointer,
                 FaultList& faults);

// The position of what `name` means at the top of the model; not there: no_layer.
std::size_t find_layer(const Expansion& expansion, const std::string& name);

}  // namespace trainyard::model
