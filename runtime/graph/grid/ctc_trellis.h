// CTC's loss on a grid (math/ops/ctc.h): forward and backward sums of logarithms in double, over
// the places of the text with a blank before, between and behind its symbols. A block has an
// example, a thread some places, and a step of the block is one of time.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/core/portable_functions.h"
#include "runtime/graph/grid/ctc_texts.h"

namespace trainyard::runtime {

// The places at a step from which the end can still be reached, and that can be reached by then:
// never more than there are steps, and one.
struct CtcBand {
  std::int64_t first = 0;
  std::int64_t last = 0;
  [[nodiscard]] TRAINYARD_BOTH bool holds(std::int64_t place) const {
    return place >= first && place <= last;
  }
};
TRAINYARD_BOTH inline CtcBand ctc_band(std::int64_t places, std::int64_t time, std::int64_t t) {
  const std::int64_t first = places - 2 * (time - t);
  const std::int64_t last = 2 * t + 1;
  return {first < 0 ? 0 : first, last < places ? last : places - 1};
}

// What is kept of some examples side by side, in scratch.
struct CtcRoom {
  double* largest = nullptr;      // [examples, time]: of the scores
  double* log_totals = nullptr;   // [examples, time]: of their exponentials
  double* alpha = nullptr;        // [examples, time, time + 1]: of the band; at last occupancies
  double* behind = nullptr;       // [examples, 2, places]: from a step on, that included
  std::int32_t* at = nullptr;     // [examples, places]: the class there
  std::int32_t* next = nullptr;   // [examples, places]: the next place of that class, or -1
  std::int32_t* heads = nullptr;  // [examples, classes]: the first place of each class, or -1
  std::int32_t* fits = nullptr;   // [examples]: whether the text fits into the time
  std::int64_t time = 0;
  std::int64_t places = 0;  // at most

  [[nodiscard]] TRAINYARD_BOTH double* alpha_row(std::int64_t example, std::int64_t t) const {
    return alpha + (example * time + t) * (time + 1);
  }
};
inline std::int64_t ctc_elements(std::int64_t time, std::int64_t classes) {
  const std::int64_t places = 2 * time + 1;
  const std::int64_t doubles = 2 * time + time * (time + 1) + 2 * places;
  return 2 * doubles + 2 * places + classes + 1;
}
inline CtcRoom cut_ctc(float* scratch, std::int64_t examples, std::int64_t time,
                       std::int64_t classes) {
  CtcRoom room{.time = time, .places = 2 * time + 1};
  room.largest = reinterpret_cast<double*>(scratch);
  room.log_totals = room.largest + examples * time;
  room.alpha = room.log_totals + examples * time;
  room.behind = room.alpha + examples * time * (time + 1);
  room.at = reinterpret_cast<std::int32_t*>(room.behind + examples * 2 * room.places);
  room.next = room.at + examples * room.places;
  room.heads = room.next + examples * room.places;
  room.fits = room.heads + examples * classes;
  return room;
}

TRAINYARD_BOTH inline double larger_double(double a, double b) { return a < b ? b : a; }

// log(e^a + e^b + e^c)
TRAINYARD_BOTH inline double log_sum(double a, double b, double c) {
  const double largest = larger_double(larger_double(a, b), c);
  if (largest == -std::numeric_limits<double>::infinity()) return largest;
  const auto share = [largest](double x) {
    return x == largest ? 1.0 : exp_of_double(x - largest);
  };
  return largest + log_of_double(share(a) + share(b) + share(c));
}

// The examples from `first` on, of which the room has the first at its begin.
struct CtcBlock {
  static constexpr int threads = 256;

  struct Shared {
    int unused;
  };
  struct Thread {
    std::int64_t time;
    std::int64_t places;
    double log_total;
  };

  CtcTexts texts;
  CtcRoom room;
  std::int64_t first = 0;
  bool divides_by_label = false;
  float impossible = 0;  // the loss of a text that does not fit
  bool has_gradient = false;
  float* losses = nullptr;

  [[nodiscard]] TRAINYARD_BOTH double scale(std::int64_t example) const {
    const std::int64_t symbols = texts.symbol_count(first + example);
    return divides_by_label ? 1.0 / static_cast<double>(symbols < 1 ? 1 : symbols) : 1.0;
  }
  [[nodiscard]] TRAINYARD_BOTH double log_of(std::int64_t example, std::int64_t t,
                                             std::int64_t at) const {
    const float score = texts.scores[((first + example) * texts.time + t) * texts.classes + at];
    const std::int64_t row = example * texts.time + t;
    return (static_cast<double>(score) - room.largest[row]) - room.log_totals[row];
  }

  // Forward in time, the loss, and back.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t example) const {
    if (room.fits[example] == 0) return 1;
    const std::int64_t time = texts.length(first + example);
    return (has_gradient ? 2 * time : time) + 1;
  }

  TRAINYARD_BOTH void step(std::int64_t example, std::int64_t n, int thread, Shared&,
                           Thread& kept) const {
    if (room.fits[example] == 0) {
      if (thread == 0) losses[first + example] = impossible;
      return;
    }
    if (n == 0) {
      kept.time = texts.length(first + example);
      kept.places = 2 * texts.symbol_count(first + example) + 1;
      kept.log_total = 0.0;
    }
    if (n < kept.time) {
      step_forward(example, n, thread, kept);
    } else if (n == kept.time) {
      if (kept.time > 0) kept.log_total = log_total_of(example, kept);
      if (thread != 0) return;
      losses[first + example] = static_cast<float>(-kept.log_total * scale(example));
    } else {
      step_back(example, 2 * kept.time - n, thread, kept);
    }
  }

 private:
  static constexpr double nothing = -std::numeric_limits<double>::infinity();  // log(0)

  // Up to step t, that included.
  [[nodiscard]] TRAINYARD_BOTH double alpha_at(std::int64_t example, std::int64_t t,
                                               std::int64_t place, const Thread& kept) const {
    const CtcBand band = ctc_band(kept.places, kept.time, t);
    return band.holds(place) ? room.alpha_row(example, t)[place - band.first] : nothing;
  }
  // A blank may be left out between symbols that differ.
  static TRAINYARD_BOTH bool skips_to(const std::int32_t* at, std::int64_t place) {
    return place % 2 == 1 && place >= 3 && at[place] != at[place - 2];
  }

  TRAINYARD_BOTH void step_forward(std::int64_t example, std::int64_t t, int thread,
                                   const Thread& kept) const {
    const std::int32_t* const at = room.at + example * room.places;
    const CtcBand band = ctc_band(kept.places, kept.time, t);
    double* const to = room.alpha_row(example, t);
    for (std::int64_t s = band.first + thread; s <= band.last; s += threads) {
      double reached = 0.0;
      if (t > 0) {
        reached = log_sum(alpha_at(example, t - 1, s, kept), alpha_at(example, t - 1, s - 1, kept),
                          skips_to(at, s) ? alpha_at(example, t - 1, s - 2, kept) : nothing);
      }
      to[s - band.first] = reached + log_of(example, t, at[s]);
    }
  }

  [[nodiscard]] TRAINYARD_BOTH double log_total_of(std::int64_t example, const Thread& kept) const {
    const std::int64_t t = kept.time - 1;
    return log_sum(alpha_at(example, t, kept.places - 1, kept),
                   alpha_at(example, t, kept.places - 2, kept), nothing);
  }

  TRAINYARD_BOTH void step_back(std::int64_t example, std::int64_t t, int thread,
                                const Thread& kept) const {
    const std::int32_t* const at = room.at + example * room.places;
    const double* const behind = room.behind + (2 * example + (t + 1) % 2) * room.places;
    double* const to = room.behind + (2 * example + t % 2) * room.places;
    double* const row = room.alpha_row(example, t);
    const CtcBand band = ctc_band(kept.places, kept.time, t);
    for (std::int64_t s = thread; s < kept.places; s += threads) {
      double beta = nothing;
      if (band.holds(s)) {
        const bool skips = s + 2 < kept.places && skips_to(at, s + 2);
        beta = t == kept.time - 1
                   ? 0.0
                   : log_sum(behind[s], s + 1 < kept.places ? behind[s + 1] : nothing,
                             skips ? behind[s + 2] : nothing);
        double& value = row[s - band.first];
        value = exp_of_double(value + beta - kept.log_total);
      }
      to[s] = beta + log_of(example, t, at[s]);
    }
  }
};

}  // namespace trainyard::runtime
