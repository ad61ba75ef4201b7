// The walk over the flat layers: each op's rule in turn, then what only the whole shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schemas/model/analysis.h"
#include "schemas/model/expand.h"
#include "schemas/model/shape.h"

namespace trainyard::model {

// Of a layer, beside what the analysis says.
struct ValueNote {
  bool has_gradient = false;
  bool is_kept = false;
  bool is_read = false;
  bool is_at_fault = false;         // unknown because something was noted
  std::int64_t ids = unknown_size;  // of ids: how many there are
  Count extra_bytes = 0;            // kept beside values, of an example
  std::size_t view_of = no_layer;   // whose bytes it has
  Place place;
};

class Analyser {
 public:
  Analyser(const Model& model, const Facts& facts, const Setting& setting, FaultList& faults)
      : model_(model), facts_(facts), setting_(setting), faults_(faults) {}

  Analysis run();

  // For LayerScribe.
  std::size_t analyse_layer(const FlatLayer& flat, std::vector<std::size_t> in);
  std::size_t add(AnalysedLayer layer, ValueNote note);
  std::size_t add_variable(Variable variable);
  [[nodiscard]] const AnalysedLayer& layer(std::size_t position) const;
  [[nodiscard]] ValueNote& note(std::size_t position) { return notes_[position]; }
  [[nodiscard]] const Variable& variable(std::size_t position) const;
  [[nodiscard]] std::size_t position_of(std::size_t flat) const { return positions_[flat]; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] FaultList& faults() { return faults_; }

 private:
  void analyse_input(const FlatLayer& flat);
  void check_all_is_read(const Expansion& expansion);

  const Model& model_;
  const Facts& facts_;
  const Setting& setting_;
  FaultList& faults_;
  Analysis result_;
  std::vector<ValueNote> notes_;
  std::vector<std::size_t> positions_;  // of flat layers; no_layer: at fault
};

}  // namespace trainyard::model
