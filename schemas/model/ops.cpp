// The table of ops, put together from its families.
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "schemas/model/op_rule.h"

namespace trainyard::model {
namespace {

std::vector<OpRule> all_ops() {
  std::vector<OpRule> all;
  for (const auto family :
       {dense_ops, convolution_ops, pool_ops, norm_ops, activation_ops, binary_ops, layout_ops,
        reduce_ops, embedding_ops, recurrent_ops, attention_ops, factor_ops}) {
    std::ranges::move(family(), std::back_inserter(all));
  }
  return all;
}

const std::vector<OpRule>& table() {
  static const std::vector<OpRule> rules = all_ops();
  return rules;
}

}  // namespace

std::span<const OpRule> ops() { return table(); }

const OpRule* find_op(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpRule*> map;
    for (const OpRule& rule : table()) map.emplace(rule.name, &rule);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const OpRule& rule : table()) names.push_back(rule.name);
  return names;
}

}  // namespace trainyard::model
