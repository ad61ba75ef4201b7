// Retention by two rankings: by step and by metric.
#include "runtime/core/retention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

namespace trainyard::runtime {
namespace {

std::size_t at_most(std::int64_t wanted, std::size_t available) {
  return wanted <= 0 ? 0 : std::min(static_cast<std::size_t>(wanted), available);
}

}  // namespace

Retention::Best best_of(std::string_view metric) {
  const bool low = metric.find("loss") != std::string_view::npos ||
                   metric.find("error") != std::string_view::npos;
  return low ? Retention::Best::lowest : Retention::Best::highest;
}

std::vector<std::int64_t> steps_to_keep(const Retention& retention,
                                        std::span<const KeptCheckpoint> checkpoints) {
  std::vector<KeptCheckpoint> latest(checkpoints.begin(), checkpoints.end());
  std::ranges::sort(latest, std::ranges::greater{}, &KeptCheckpoint::step);

  std::vector<KeptCheckpoint> best = latest;
  std::erase_if(best, [](const KeptCheckpoint& one) { return std::isnan(one.metric); });
  const double sign = retention.best == Retention::Best::lowest ? 1.0 : -1.0;
  std::ranges::stable_sort(best, std::ranges::less{},
                           [sign](const KeptCheckpoint& one) { return sign * one.metric; });

  std::set<std::int64_t> kept;
  const std::int64_t newest = std::max<std::int64_t>(retention.keep_latest, 1);
  for (std::size_t i = 0; i < at_most(newest, latest.size()); ++i) kept.insert(latest[i].step);
  for (std::size_t i = 0; i < at_most(retention.keep_best, best.size()); ++i) {
    kept.insert(best[i].step);
  }
  return {kept.begin(), kept.end()};
}

}  // namespace trainyard::runtime
