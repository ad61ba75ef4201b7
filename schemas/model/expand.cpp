// Lists, repeats, residuals and blocks.
#include "schemas/model/expand.h"

#include <algorithm>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/model/expander.h"
#include "schemas/model/inputs.h"
#include "schemas/model/sentence.h"
#include "schemas/model/shape.h"

namespace trainyard::model {
namespace {

// What a layer is called where nobody named it.
std::string standard_name(const Layer& layer) {
  if (const auto* op = std::get_if<OpLayer>(&layer.what)) return op->op;
  if (const auto* use = std::get_if<UseLayer>(&layer.what)) return use->block;
  return std::holds_alternative<RepeatLayer>(layer.what) ? "repeat" : "residual";
}

}  // namespace

Expander::Expander(const Model& model, const std::string& pointer, FaultList& faults)
    : model_(model), pointer_(pointer), faults_(faults) {
  for (const Definition& one : model.define) definitions_.emplace(one.name, one.value);
  for (const Block& block : model.blocks) blocks_.emplace(block.name, &block);
}

void Expander::run(Expansion& result) {
  result_ = &result;
  const Bindings bindings(definitions_);
  Around around{.pointer = child_pointer(pointer_, "layers"), .prefix = "", .bindings = bindings};
  if (result.inputs == 1) around.above = 0;
  result.last = expand_list(model_.layers, around);
  result.is_whole = !is_full_;
  if (is_full_) return;
  for (const Block& block : model_.blocks) {
    if (used_.contains(&block)) continue;
    faults_.add(child_pointer(child_pointer(pointer_, "blocks"), block.name),
                "no layer uses the block " + quoted(block.name));
  }
}

std::size_t Expander::expand_list(const Layers& layers, const Around& around) {
  std::unordered_map<std::string, std::size_t> counts;  // of unnamed and named layers of one op
  std::optional<std::size_t> above = around.above;
  if (layers.empty()) {
    const Place place{around.pointer, around.used_at, around.from, ++expansions_};
    faults_.add(place, "", "must have one layer or more");
    ++layers_;  // whatever is walked over counts, so that the walk ends
  }
  for (std::size_t i = 0; i < layers.size() && !is_full_; ++i) {
    const Layer& layer = layers[i];
    Item item{.layer = layer,
              .around = around,
              .place = {item_pointer(around.pointer, i), around.used_at,
                        layer.from.empty() ? around.from : layer.from, ++expansions_},
              .path = around.prefix,
              .above = above,
              .is_first = seen_.insert(&layer).second};
    std::string unnamed = standard_name(layer);
    if (!is_name(unnamed)) unnamed = "layer";
    const std::size_t count = counts[unnamed]++;
    item.path += is_name(layer.name) ? layer.name : unnamed + '_' + std::to_string(count);
    if (item.is_first && !layer.name.empty() && !is_name(layer.name)) {
      faults_.add(
          item.place, "/name",
          "must be 1 to 64 of a-z, 0-9 and _, with a letter first; got " + quoted(layer.name));
    }
    above = expand_layer(item);
  }
  return above.value_or(no_layer);
}

std::size_t Expander::expand_layer(const Item& item) {
  const std::size_t value =
      std::visit([&](const auto& what) { return expand(item, what); }, item.layer.what);
  if (!is_full_) name_value(item, value);
  return value;
}

void Expander::name_value(const Item& item, std::size_t value) {
  if (result_->by_name.emplace(item.path, value).second) return;
  faults_.add(item.place, item.layer.name.empty() ? "" : "/name",
              "two layers or inputs have the name " + quoted(item.path));
}

Around Expander::inside(const Item& item, std::string_view list, std::string prefix) {
  Around inner{.pointer = child_pointer(item.place.pointer, list),
               .prefix = std::move(prefix),
               .bindings = item.around.bindings,
               .used_at = item.around.used_at,
               .from = item.place.from,
               .recompute_block = item.around.recompute_block,
               .is_frozen = item.around.is_frozen || read_flag(item, "freeze"),
               .depth = item.around.depth + 1};
  if (read_flag(item, "recompute") && !inner.recompute_block) {
    inner.recompute_block = recompute_blocks_++;
  }
  return inner;
}

bool Expander::has_room(const Item& item, std::string_view below, std::int64_t layers) {
  if (item.around.depth >= nesting_max) {
    faults_.add(item.place, below,
                "lists of layers may lie " + std::to_string(nesting_max) + " deep at most");
    is_full_ = true;  // else blocks of blocks come here as often as they have paths
    return false;
  }
  if (*plus(layers_, layers) <= layers_max) return true;
  faults_.add(item.place, below,
              "comes to " + with_commas(*plus(layers_, layers)) +
                  " layers or more after expansion; a model may have " + with_commas(layers_max));
  is_full_ = true;
  return false;
}

std::size_t Expander::emit(FlatLayer layer, std::size_t counts_as) {
  layers_ += static_cast<std::int64_t>(counts_as);
  result_->layers.push_back(std::move(layer));
  return result_->layers.size() - 1;
}

std::optional<std::int64_t> Expander::read_times(const Item& item, const Value& written) {
  const auto value = item.around.bindings.replace(written, item.place, "/repeat", faults_);
  if (!value) return std::nullopt;
  const double* number = value->number();
  if (number != nullptr && *number >= 1 && *number <= repeat_max) {
    const auto times = static_cast<std::int64_t>(*number);
    if (static_cast<double>(times) == *number) return times;
  }
  Place place = item.place;
  if (!value->from.empty()) place.from = value->from;
  faults_.add(
      place, "/repeat",
      "must be a whole number from 1 to " + with_commas(repeat_max) + ", got " + describe(*value));
  return std::nullopt;
}

std::size_t Expander::expand(const Item& item, const RepeatLayer& repeat) {
  refuse_others(item, {}, "repeat");
  const auto input = read_one_input(item);
  const std::int64_t count = read_times(item, repeat.times).value_or(1);
  if (!has_room(item, "/repeat", *times(count, least_.least(repeat.layers)))) return no_layer;
  std::optional<std::size_t> above = input;
  for (std::int64_t i = 0; i < count && !is_full_; ++i) {
    const std::string path = item.path + '/' + std::to_string(i);
    Around inner = inside(item, "layers", path + '/');
    inner.above = above;
    above = expand_list(repeat.layers, inner);
    result_->by_name.emplace(path, *above);
  }
  return above.value_or(no_layer);
}

std::size_t Expander::expand(const Item& item, const ResidualLayer& residual) {
  refuse_others(item, {}, "residual");
  // Without anything above it that is noted here, as the shortcut reads it too.
  const std::size_t input = item.above ? *read_one_input(item) : read_inputs(item).front();
  if (!has_room(item, "/residual", least_.least(residual.layers) + 1)) return no_layer;
  Around inner = inside(item, "residual", item.path + '/');
  inner.above = input;
  const std::size_t branch = expand_list(residual.layers, inner);
  std::size_t shortcut = input;
  if (!residual.shortcut.empty()) {
    Around other = inner;
    other.pointer = child_pointer(item.place.pointer, "shortcut");
    other.prefix = item.path + "/shortcut/";
    shortcut = expand_list(residual.shortcut, other);
  }
  if (is_full_ || !has_room(item, "/residual", 1)) return no_layer;
  return emit({.name = item.path,
               .op = "add",
               .in = {branch, shortcut},
               .place = item.place,
               .recompute_block = inner.recompute_block,
               .is_residual_sum = true,
               .has_shortcut = !residual.shortcut.empty()},
              1);
}

std::size_t Expander::expand(const Item& item, const UseLayer& use) {
  const auto found = blocks_.find(use.block);
  if (!has_room(item, "/use", 1)) return no_layer;
  if (found == blocks_.end()) {
    ++layers_;
    if (!faults_.hears(item.place, "/use")) return no_layer;
    std::vector<std::string_view> names;
    for (const Block& block : model_.blocks) names.emplace_back(block.name);
    faults_.add(item.place, "/use",
                "there is no block " + quoted(use.block) + meant(use.block, names));
    return no_layer;
  }
  const Block& block = *found->second;
  used_.insert(&block);
  if (std::ranges::find(active_, &block) != active_.end()) {
    faults_.add(item.place, "/use", "the block " + quoted(block.name) + " uses itself");
    ++layers_;
    return no_layer;
  }
  if (!has_room(item, "/use", least_.least(block.layers))) return no_layer;
  active_.push_back(&block);
  const std::size_t value = expand_block(item, block);
  active_.pop_back();
  return value;
}

std::size_t Expander::expand_block(const Item& item, const Block& block) {
  const std::vector<std::string_view> parameters(block.parameters.begin(), block.parameters.end());
  refuse_others(item, parameters, "the block " + quoted(block.name));
  FlatLayer given;
  read_arguments(item, parameters, given);
  const Bindings bindings =
      item.around.bindings.within(block, std::move(given.arguments), item.place.pointer);
  const Around outer = inside(item, "", item.path + '/');
  Around inner{.pointer = child_pointer(
                   child_pointer(child_pointer(pointer_, "blocks"), block.name), "layers"),
               .prefix = outer.prefix,
               .bindings = bindings,
               .used_at = " (used at " + item.place.pointer +
                          (outer.used_at.empty() ? ")" : ", " + outer.used_at.substr(2)),
               .from = outer.from,
               .above = read_one_input(item),
               .recompute_block = outer.recompute_block,
               .is_frozen = outer.is_frozen,
               .depth = outer.depth};
  return expand_list(block.layers, inner);
}

Expansion expand(const Model& model, const Facts& facts, const std::string& pointer,
                 FaultList& faults) {
  Expansion expansion;
  add_inputs(model, facts, pointer, expansion, faults);
  Expander(model, pointer, faults).run(expansion);
  return expansion;
}

std::size_t find_layer(const Expansion& expansion, const std::string& name) {
  const auto found = expansion.by_name.find(name);
  return found == expansion.by_name.end() ? no_layer : found->second;
}

}  // namespace trainyard::model
