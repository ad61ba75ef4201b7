// A row of the table of ops: how many inputs, which arguments, and what follows from them. A family
// of ops is a file in ops/, a new op one row there.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/model/argument_rule.h"

namespace trainyard::model {

class LayerScribe;

struct OpRule {
  std::string_view name;
  std::size_t inputs_least = 1;
  std::size_t inputs_most = 1;
  ArgumentRules arguments = {};
  void (*infer)(LayerScribe& layer) = nullptr;  // called where all inputs are there
  bool reads_ids = false;                       // else ids are a fault
  bool reads_sparse = false;
  // Of how many layers it is the spelling; `infer` adds these then, and it is none itself.
  std::size_t layers = 1;
};

// Every op that a user may write, in the order of the families.
std::span<const OpRule> ops();
const OpRule* find_op(std::string_view name);
std::vector<std::string_view> op_names();

// The families, in ops/.
std::vector<OpRule> activation_ops();
std::vector<OpRule> attention_ops();
std::vector<OpRule> binary_ops();
std::vector<OpRule> convolution_ops();
std::vector<OpRule> dense_ops();
std::vector<OpRule> embedding_ops();
std::vector<OpRule> factor_ops();
std::vector<OpRule> layout_ops();
std::vector<OpRule> norm_ops();
std::vector<OpRule> pool_ops();
std::vector<OpRule> recurrent_ops();
std::vector<OpRule> reduce_ops();

}  // namespace trainyard::model
