// A parameter server of the simulation: the core that ships, and numbers in place of floats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/core/exact_sum.h"
#include "runtime/ps/parameter_server.h"
#include "runtime/worker/exchange.h"
#include "tests/runtime/exchange_sim/yard.h"

namespace trainyard::runtime::exchange_sim {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a share of a gradient measures, and all of it.
struct Squares {
  std::int64_t version = 0;
  ExactSum sum = {};
};
struct TotalSquares {
  std::int64_t version = 0;
  double all = 0;
};
// Of a gradient, as far as it can be: those of a number so small that sums stay exact.
double squares_of(Number gradient);

struct Parameters {
  ParametersCame head;
  Number value = 0;
};

// By chunk of the job: what is whole of a snapshot.
using SavedChunks = std::map<std::int64_t, Value>;

class SimServer {
 public:
  // `chunks`: those of the job that this server has.
  SimServer(const Scene& scene, std::int64_t server, std::vector<std::int64_t> chunks);

  // What the core says is done; its welcome is for the worker. A refusal is a fault: all workers
  // are right. `value` is the gradient's.
  std::optional<Welcomed> tell(const PsEvent& event, Number value = 0);
  std::optional<Parameters> next_to_send(std::int64_t rank);
  // Since the last call: what the chief is to be told.
  std::optional<Squares> take_squares() { return std::exchange(squares_to_tell_, std::nullopt); }
  // The chief says it; a version that nobody waits for is long made.
  void tell_norm(const TotalSquares& total);

  [[nodiscard]] const std::vector<Value>& values() const { return now_; }  // by its own chunk
  // What its own chunk was in this version.
  [[nodiscard]] Number weights_of(std::int64_t chunk, std::int64_t version) const;
  [[nodiscard]] const std::map<std::int64_t, SavedChunks>& saved() const { return saved_; }

 private:
  void perform(const PsEffect& effect);
  void update(const UpdateChunk& effect);
  void measure(const MeasureChunk& effect);
  void save(const SaveCopy& effect);

  std::int64_t server_;
  std::vector<std::int64_t> chunks_;
  ParameterServer core_;
  std::vector<std::vector<Number>> made_;  // by chunk, by version
  std::vector<Value> now_;
  std::vector<Value> before_;                                     // the version before
  std::map<std::pair<std::int64_t, std::int64_t>, Number> held_;  // by chunk and rank
  std::vector<std::pair<std::int64_t, Value>> copies_;            // by chunk: of which snapshot
  std::map<std::int64_t, SavedChunks> saved_;                     // by name
  bool clips_;
  Squares squares_;                    // of the newest version that is measured
  std::optional<double> all_squares_;  // that the chief has told
  std::optional<Squares> squares_to_tell_;
};

}  // namespace trainyard::runtime::exchange_sim
