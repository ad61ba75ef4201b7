// The losses and metrics of a model: what they read, their arguments, and their rules.
#pragma once

#include <string>
#include <vector>

#include "schemas/model/analysis.h"
#include "schemas/model/bindings.h"
#include "schemas/model/expand.h"
#include "schemas/model/term_rule.h"

namespace trainyard::model {

inline constexpr std::size_t terms_max = 16;  // losses, and metrics

class Terms {
 public:
  // `positions`: of the flat layers in the analysis.
  Terms(const Model& model, const Facts& facts, const Setting& setting,
        const std::vector<std::size_t>& positions, FaultList& faults);

  // Adds them to the analysis. False: what some of them read is not known, as it is at fault.
  bool check(const Expansion& expansion, Analysis& analysis);

 private:
  // One that is read.
  struct Item {
    const Term& term;
    const TermRule* rule;
    Place place;
  };
  void check_loss_list(const Expansion& expansion, Analysis& analysis);
  void check_one(const Item& item, const std::vector<std::size_t>& standard,
                 const Expansion& expansion, std::vector<AnalysedTerm>& sum, Analysis& analysis);
  std::vector<std::size_t> read_inputs(const Item& item, const std::vector<std::size_t>& standard,
                                       const Expansion& expansion);
  void refuse_others(const Item& item);
  Arguments read_arguments(const Item& item, std::vector<std::string>& broken);
  void check_target(const Item& item);

  const Model& model_;
  const Facts& facts_;
  const Setting& setting_;
  const std::vector<std::size_t>& positions_;
  FaultList& faults_;
  Definitions definitions_;
  std::size_t expansions_ = no_layer;  // counted down, so that none is a layer's
  bool knows_inputs_ = true;
};

}  // namespace trainyard::model
