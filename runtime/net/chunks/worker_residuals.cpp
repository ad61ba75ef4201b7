#include "runtime/net/chunks/worker_residuals.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

WorkerResiduals::WorkerResiduals(WorkerArenas& arenas)
    : arenas_(arenas),
      awaited_(arenas.chunks().size(), arenas.onebit() != nullptr),
      awaited_count_(arenas.onebit() != nullptr ? std::ssize(arenas.chunks()) : 0),
      kept_(arenas.chunks().size()) {
  for (const ArenaChunk& chunk : arenas.chunks()) {
    ps_of_.push_back(index_of(chunk.holder));
    to_send_.resize(std::max(to_send_.size(), ps_of_.back() + 1));
  }
}

bool WorkerResiduals::welcomed(std::size_t ps) {
  bool asks = false;
  for (std::size_t chunk = 0; chunk < kept_.size(); ++chunk) {
    if (ps_of_[chunk] != ps) continue;
    asks = asks || awaited_[chunk];
    if (kept_[chunk].values) to_send_[ps].insert(static_cast<std::int64_t>(chunk));
  }
  return asks;
}

std::int64_t WorkerResiduals::floats(std::int64_t chunk) const {
  const OneBitEncoder* const onebit = arenas_.onebit();
  return onebit == nullptr ? 0 : onebit->residual_floats(arenas_.range_of(chunk));
}

void WorkerResiduals::restore(std::int64_t chunk, std::span<const float> values) {
  ENSURE(awaits(chunk));
  if (!values.empty()) arenas_.onebit()->restore_residual(arenas_.range_of(chunk), values);
  awaited_[index_of(chunk)] = false;
  --awaited_count_;
}

void WorkerResiduals::keep(std::int64_t chunk, std::int64_t snapshot) {
  const auto values = std::make_shared<std::vector<float>>(index_of(floats(chunk)));
  arenas_.onebit()->copy_residual(arenas_.range_of(chunk), *values);
  Kept& kept = kept_[index_of(chunk)];
  if (!kept.values) ++kept_count_;
  kept = {.snapshot = snapshot, .values = values};
  to_send_[ps_of_[index_of(chunk)]].insert(chunk);
}

std::optional<FrameStream::Outgoing> WorkerResiduals::next_to_send(std::size_t ps) {
  if (ps >= to_send_.size() || to_send_[ps].empty()) return std::nullopt;
  const std::int64_t chunk = *to_send_[ps].begin();
  to_send_[ps].erase(to_send_[ps].begin());
  const Kept& kept = kept_[index_of(chunk)];
  return FrameStream::Outgoing{.header = {.kind = FrameKind::residual,
                                          .chunk = arenas_.number_in_share(chunk),
                                          .snapshot = kept.snapshot},
                               .pieces = {std::as_bytes(std::span(*kept.values))},
                               .owner = kept.values};
}

void WorkerResiduals::taken(std::int64_t chunk, std::int64_t snapshot) {
  Kept& kept = kept_[index_of(chunk)];
  if (!kept.values || kept.snapshot != snapshot) return;  // it was sent twice
  kept = {};
  to_send_[ps_of_[index_of(chunk)]].erase(chunk);
  --kept_count_;
}

}  // namespace trainyard::runtime
