// The walk of expand.h: one function for each thing that a list of layers may hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schemas/model/bindings.h"
#include "schemas/model/expand.h"
#include "schemas/model/layer_counts.h"

namespace trainyard::model {

// What a list of layers stands in.
struct Around {
  std::string pointer;  // of the list: "/model/layers"
  std::string prefix;   // of its layers' names: "h/3/"
  const Bindings& bindings;
  std::string used_at = {};
  std::string from = {};
  std::optional<std::size_t> above = {};  // the value before its first layer; nothing: none is
  std::optional<std::size_t> recompute_block = {};
  bool is_frozen = false;
  std::size_t depth = 0;
};

// A layer of it.
struct Item {
  const Layer& layer;
  const Around& around;
  Place place;
  std::string path;                  // its name with the names around it
  std::optional<std::size_t> above;  // the value before it
  bool is_first = false;             // of its expansions
};

class Expander {
 public:
  Expander(const Model& model, const std::string& pointer, FaultList& faults);

  // Behind the inputs, which are in `result`. Those that are one alone are what is above the first.
  void run(Expansion& result);

 private:
  // Each returns the position of what it gives; no_layer: it is at fault.
  std::size_t expand_list(const Layers& layers, const Around& around);
  std::size_t expand_layer(const Item& item);
  std::size_t expand(const Item& item, const OpLayer& layer);
  std::size_t expand(const Item& item, const RepeatLayer& repeat);
  std::size_t expand(const Item& item, const ResidualLayer& residual);
  std::size_t expand(const Item& item, const UseLayer& use);
  std::size_t expand_block(const Item& item, const Block& block);

  Around inside(const Item& item, std::string_view list, std::string prefix);
  std::size_t emit(FlatLayer layer, std::size_t counts_as);
  bool has_room(const Item& item, std::string_view below, std::int64_t layers);
  void name_value(const Item& item, std::size_t value);

  std::vector<std::size_t> read_inputs(const Item& item);
  std::size_t read_input(const Item& item, std::size_t position);
  bool check_input_count(const Item& item, std::size_t count, std::size_t least, std::size_t most);
  std::optional<std::size_t> read_one_input(const Item& item);
  // From its own list outwards; no_layer: what has the name is at fault. Nothing: nobody has it.
  std::optional<std::size_t> look_up(const std::string& prefix, const std::string& name) const;
  void read_arguments(const Item& item, const std::vector<std::string_view>& known,
                      FlatLayer& flat);
  void read_tie(const Item& item, FlatLayer& flat);
  bool read_flag(const Item& item, std::string_view name);
  std::optional<std::int64_t> read_times(const Item& item, const Value& written);
  void refuse_others(const Item& item, const std::vector<std::string_view>& known,
                     const std::string& what);

  const Model& model_;
  const std::string& pointer_;
  FaultList& faults_;
  Expansion* result_ = nullptr;
  Definitions definitions_;
  std::unordered_map<std::string_view, const Block*> blocks_;
  std::vector<const Block*> active_;
  std::unordered_set<const Block*> used_;
  std::unordered_set<const Layer*> seen_;
  LayerCounts least_;
  std::int64_t layers_ = 0;
  std::size_t expansions_ = 0;
  std::size_t recompute_blocks_ = 0;
  bool is_full_ = false;
};

}  // namespace trainyard::model
