// A row of the tables of losses and metrics.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/model/argument_rule.h"

namespace trainyard::model {

class TermScribe;

struct TermRule {
  std::string_view name;
  std::size_t inputs = 1;
  std::size_t more_inputs = 0;  // that may be there
  ArgumentRules arguments = {};
  void (*check)(TermScribe& term) = nullptr;  // called where the shapes of all inputs are known
};

std::span<const TermRule> losses();
std::span<const TermRule> metrics();
const TermRule* find_loss(std::string_view name);
const TermRule* find_metric(std::string_view name);

}  // namespace trainyard::model
