// Forward and backward sums of logarithms in double, over the places of the text with a blank
// before, between and behind its symbols. Of one step only those places are looked at that can be
// reached from the first step and from which the last can be reached.
#include "runtime/math/ops/ctc.h"

#include <algorithm>
#include <limits>

#include "runtime/core/portable_math.h"
#include "runtime/math/ops/cpu/ctc_batch.h"
#include "runtime/math/ops/scratch.h"

namespace trainyard::runtime {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();  // log(0)

double larger(double a, double b) { return a < b ? b : a; }

// log(e^a + e^b + e^c)
double log_sum(double a, double b, double c) {
  const double largest = larger(larger(a, b), c);
  if (largest == nothing) return nothing;
  const auto share = [largest](double x) { return x == largest ? 1.0 : portable_exp(x - largest); };
  return largest + portable_log(share(a) + share(b) + share(c));
}

struct Room {
  std::span<double> logs;       // [time, classes]: of the probabilities
  std::span<double> alpha;      // [time, places]: up to a step, that included
  std::span<double> beta;       // [places]: behind the step
  std::span<double> beta_next;  // [places]
  std::span<double> occupancy;  // [classes]
  std::span<std::int32_t> at;   // [places]: the class there
};

Room cut(Scratch& memory, std::int64_t time, std::int64_t classes) {
  const std::int64_t places = 2 * time + 1;
  return {.logs = memory.take<double>(time * classes),
          .alpha = memory.take<double>(time * places),
          .beta = memory.take<double>(places),
          .beta_next = memory.take<double>(places),
          .occupancy = memory.take<double>(classes),
          .at = memory.take<std::int32_t>(places)};
}

bool fits(const CtcExample& example) {
  std::int64_t steps = std::ssize(example.symbols);
  for (std::size_t i = 1; i < example.symbols.size(); ++i) {
    if (example.symbols[i] == example.symbols[i - 1]) ++steps;
  }
  return steps <= example.time;
}

// Of one example that fits.
class Trellis {
 public:
  Trellis(const CtcExample& example, const Room& room)
      : example_(example), room_(room), places_(2 * std::ssize(example.symbols) + 1) {
    for (std::int64_t s = 0; s < places_; ++s) {
      room_.at[index(s)] = static_cast<std::int32_t>(example.blank);
      if (s % 2 == 1) room_.at[index(s)] = example.class_of(index(s / 2));
    }
    for (std::int64_t t = 0; t < example_.time; ++t) set_logs(t);
  }

  // The logarithm of the text's probability. Without steps the empty text is certain.
  double run_forward() {
    if (example_.time == 0) return 0.0;
    for (std::int64_t t = 0; t < example_.time; ++t) {
      std::ranges::fill(alpha_row(t), nothing);
      for (std::int64_t s = first(t); s <= last(t); ++s) {
        const double before = t > 0 ? reached(alpha_row(t - 1), s) : 0.0;
        alpha_row(t)[index(s)] = before + log_of(t, s);
      }
    }
    const auto end = alpha_row(example_.time - 1);
    const double before_blank = places_ > 1 ? end[index(places_ - 2)] : nothing;
    log_total_ = log_sum(end[index(places_ - 1)], before_blank, nothing);
    return log_total_;
  }

  // After run_forward: scale * (softmax - occupancy) of all steps, a symbol's summed over its
  // places from the first to the last.
  void write_gradient(double scale, float* gradient) {
    std::span<double> beta = room_.beta.first(index(places_));
    std::span<double> next = room_.beta_next.first(index(places_));
    for (std::int64_t t = example_.time; t-- > 0;) {
      std::ranges::fill(beta, nothing);
      std::ranges::fill(room_.occupancy, 0.0);
      for (std::int64_t s = first(t); s <= last(t); ++s) {
        beta[index(s)] = t == example_.time - 1 ? 0.0 : leaving(t + 1, next, s);
        room_.occupancy[index(room_.at[index(s)])] +=
            portable_exp(alpha_row(t)[index(s)] + beta[index(s)] - log_total_);
      }
      for (std::int64_t c = 0; c < example_.classes; ++c) {
        const double softmax = portable_exp(room_.logs[index(t * example_.classes + c)]);
        gradient[t * example_.classes + c] =
            static_cast<float>(scale * (softmax - room_.occupancy[index(c)]));
      }
      std::swap(beta, next);
    }
  }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  void set_logs(std::int64_t t) {
    const float* const from = example_.scores + t * example_.classes;
    const auto to = room_.logs.subspan(index(t * example_.classes), index(example_.classes));
    double largest = static_cast<double>(from[0]);
    for (std::size_t c = 1; c < to.size(); ++c) {
      largest = larger(largest, static_cast<double>(from[c]));
    }
    double total = 0;
    for (std::size_t c = 0; c < to.size(); ++c) {
      to[c] = static_cast<double>(from[c]) - largest;
      total += portable_exp(to[c]);
    }
    const double log_total = portable_log(total);
    for (double& value : to) value -= log_total;
  }

  [[nodiscard]] double log_of(std::int64_t t, std::int64_t s) const {
    return room_.logs[index(t * example_.classes + room_.at[index(s)])];
  }
  [[nodiscard]] std::span<double> alpha_row(std::int64_t t) const {
    return room_.alpha.subspan(index(t * places_), index(places_));
  }
  // The places from which the end can still be reached, and those that can be reached by now.
  [[nodiscard]] std::int64_t first(std::int64_t t) const {
    return std::max<std::int64_t>(0, places_ - 2 * (example_.time - t));
  }
  [[nodiscard]] std::int64_t last(std::int64_t t) const { return std::min(places_ - 1, 2 * t + 1); }
  // A blank may be left out between symbols that differ.
  [[nodiscard]] bool skips_to(std::int64_t s) const {
    return s % 2 == 1 && s >= 3 && room_.at[index(s)] != room_.at[index(s - 2)];
  }

  // What reaches place s from the step before.
  [[nodiscard]] double reached(std::span<const double> before, std::int64_t s) const {
    return log_sum(before[index(s)], s >= 1 ? before[index(s - 1)] : nothing,
                   skips_to(s) ? before[index(s - 2)] : nothing);
  }

  // What leaves place s towards the step t.
  [[nodiscard]] double leaving(std::int64_t t, std::span<const double> behind,
                               std::int64_t s) const {
    const auto at = [&](std::int64_t place) { return behind[index(place)] + log_of(t, place); };
    return log_sum(at(s), s + 1 < places_ ? at(s + 1) : nothing,
                   s + 2 < places_ && skips_to(s + 2) ? at(s + 2) : nothing);
  }

  const CtcExample& example_;
  const Room& room_;
  std::int64_t places_;
  double log_total_ = 0;
};

}  // namespace

std::size_t ctc_scratch_bytes(std::int64_t time, std::int64_t classes) {
  Scratch counts;
  cut(counts, time, classes);
  return counts.used_bytes();
}

void ctc(const CtcBatch& batch, const CtcLoss& kind, Tensor losses, Tensor gradients,
         std::span<std::byte> scratch) {
  const Shape& shape = batch.scores.shape;
  Scratch memory(scratch);
  const Room room = cut(memory, shape[1], shape[2]);
  const std::int64_t each = shape[1] * shape[2];
  for_each_example(batch, [&](const CtcExample& example) {
    float& loss = losses.data[example.number];
    float* const gradient =
        gradients.data == nullptr ? nullptr : gradients.data + example.number * each;
    if (gradient != nullptr) std::fill_n(gradient, each, 0.0F);
    if (!fits(example)) {
      loss = kind.skips_impossible ? 0.0F : std::numeric_limits<float>::infinity();
      return;
    }
    const std::int64_t symbols = std::max<std::int64_t>(1, std::ssize(example.symbols));
    const double scale = kind.divides_by_label ? 1.0 / static_cast<double>(symbols) : 1.0;
    Trellis trellis(example, room);
    loss = static_cast<float>(-trellis.run_forward() * scale);
    if (gradient != nullptr) trellis.write_gradient(scale, gradient);
  });
}

void ctc_gradient(ConstTensor gradients, ConstTensor losses_gradient, Tensor scores_gradient,
                  Write write) {
  ENSURE(gradients.shape == scores_gradient.shape);
  const std::int64_t each = gradients.shape[1] * gradients.shape[2];
  for (std::int64_t example = 0; example < gradients.shape[0]; ++example) {
    const float* const from = gradients.data + example * each;
    float* const to = scores_gradient.data + example * each;
    const float scale = losses_gradient.data[example];
    for (std::int64_t i = 0; i < each; ++i) {
      to[i] = write == Write::add ? to[i] + scale * from[i] : scale * from[i];
    }
  }
}

}  // namespace trainyard::runtime
