// What the rule of a loss or a metric looks at: the values it reads, the labels, its arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/model/analysis.h"
#include "schemas/model/fault_list.h"
#include "schemas/model/given.h"
#include "schemas/model/term_rule.h"

namespace trainyard::model {

class TermScribe {
 public:
  struct About {
    const Facts& facts;
    const Analysis& analysis;
    const AnalysedTerm& term;
    const Term& written;
    const Place& place;
    Given& given;
    FaultList& faults;
  };
  explicit TermScribe(const About& about) : about_(about) {}

  [[nodiscard]] const std::string& op() const { return about_.term.op; }
  [[nodiscard]] std::size_t inputs() const { return about_.term.in.size(); }
  [[nodiscard]] const Sizes& shape(std::size_t input) const;
  [[nodiscard]] std::string input_name(std::size_t input) const;  // quoted
  [[nodiscard]] const Facts& facts() const { return about_.facts; }
  [[nodiscard]] Given& given() { return about_.given; }
  // Whether one of the model's losses is this one, where all of them are right.
  [[nodiscard]] bool has_loss(std::string_view op) const;

  void fault(std::string_view argument, std::string message);
  bool has_rank(std::size_t input, std::size_t least, std::size_t most, std::string_view form);
  // The labels are one of these, as far as is known; `noun`: "classes".
  bool has_labels(const std::vector<LabelKind>& kinds, std::string_view noun);
  // The last size is `count`, which the data set has so many `noun` of.
  void has_as_many(std::size_t input, Count count, std::string_view noun);

 private:
  About about_;
};

}  // namespace trainyard::model
