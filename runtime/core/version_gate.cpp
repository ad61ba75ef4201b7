// The rules themselves: each a line or two, tested as a table.
#include "runtime/core/version_gate.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

VersionGate::VersionGate(Rules rules, std::int64_t version, std::vector<std::int64_t> rank_steps)
    : rules_(rules), version_(version), rank_steps_(std::move(rank_steps)) {
  ENSURE(rules_.ranks >= 1);
  const std::int64_t first = rules_.mode == Mode::sync ? version_ : 0;
  if (rules_.mode == Mode::sync) rank_steps_.clear();  // all ranks stand at the version
  rank_steps_.resize(static_cast<std::size_t>(rules_.ranks), first);
}

VersionGate::Verdict VersionGate::judge(std::int64_t rank, std::int64_t step) const {
  if (!knows(rank)) return Verdict::unknown_rank;
  const std::int64_t newest = rank_steps_[static_cast<std::size_t>(rank)];
  if (step <= newest) return Verdict::duplicate;
  if (finished()) return Verdict::finished;
  if (step != newest + 1) return Verdict::out_of_order;
  if (rules_.mode == Mode::sync && step != version_ + 1) return Verdict::out_of_order;
  return Verdict::accept;
}

void VersionGate::accept(std::int64_t rank, std::int64_t step) {
  ENSURE(judge(rank, step) == Verdict::accept);
  rank_steps_[static_cast<std::size_t>(rank)] = step;
  ++accepted_;
}

bool VersionGate::complete() const {
  return accepted_ == (rules_.mode == Mode::sync ? rules_.ranks : 1);
}

void VersionGate::commit() {
  ENSURE(complete());
  accepted_ = 0;
  ++version_;
}

void VersionGate::commit_decided() {
  ENSURE(rules_.mode == Mode::sync && accepted_ == 0);
  ++version_;
  std::ranges::fill(rank_steps_, version_);
}

}  // namespace trainyard::runtime
