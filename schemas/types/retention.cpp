// Retention by two rankings: by step and by metric.
#include "schemas/types/retention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <set>

namespace trainyard {
namespace {

std::size_t at_most(std::int64_t wanted, std::size_t available) {
  return wanted <= 0 ? 0 : std::min(static_cast<std::size_t>(wanted), available);
}

std::vector<Ranked> newest_first(std::span<const Ranked> checkpoints) {
  std::vector<Ranked> newest(checkpoints.begin(), checkpoints.end());
  std::ranges::sort(newest, std::ranges::greater{}, &Ranked::step);
  return newest;
}

// Those that are not finite are left out: a NaN is neither better nor worse than anything.
std::vector<Ranked> best_first(Best best, std::span<const Ranked> checkpoints) {
  std::vector<Ranked> ranking = newest_first(checkpoints);
  std::erase_if(ranking, [](const Ranked& one) { return !std::isfinite(one.metric); });
  const double sign = best == Best::lowest ? 1.0 : -1.0;
  std::ranges::stable_sort(ranking, std::ranges::less{},
                           [sign](const Ranked& one) { return sign * one.metric; });
  return ranking;
}

}  // namespace

Ranked ranked_by(const std::string& metric, std::int64_t step,
                 const std::map<std::string, double>& metrics) {
  const auto found = metrics.find(metric);
  return {step, found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second};
}

Best best_of(std::string_view metric) {
  constexpr std::array<std::string_view, 4> low{"loss", "error", "perplexity", "distance"};
  const bool is_low = std::ranges::any_of(
      low, [metric](std::string_view word) { return metric.find(word) != std::string_view::npos; });
  return is_low ? Best::lowest : Best::highest;
}

Retention retention_of(const CheckpointSpec& spec) {
  return {spec.keep_latest, spec.keep_best, best_of(spec.metric)};
}

std::vector<std::int64_t> steps_to_keep(const Retention& retention,
                                        std::span<const Ranked> checkpoints) {
  const std::vector<Ranked> latest = newest_first(checkpoints);
  const std::vector<Ranked> best = best_first(retention.best, checkpoints);
  std::set<std::int64_t> kept;
  const std::int64_t newest = std::max<std::int64_t>(retention.keep_latest, 1);
  for (std::size_t i = 0; i < at_most(newest, latest.size()); ++i) kept.insert(latest[i].step);
  for (std::size_t i = 0; i < at_most(retention.keep_best, best.size()); ++i) {
    kept.insert(best[i].step);
  }
  return {kept.begin(), kept.end()};
}

std::optional<std::int64_t> best_step(Best best, std::span<const Ranked> checkpoints) {
  const std::vector<Ranked> ranking = best_first(best, checkpoints);
  if (ranking.empty()) return std::nullopt;
  return ranking.front().step;
}

}  // namespace trainyard
