#include "runtime/graph/device_traffic.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {
namespace {

using ArenaRange = DeviceTraffic::ArenaRange;

// Each copy has a price of its own: those that touch are one.
std::vector<ArenaRange> joined(std::vector<ArenaRange> ranges) {
  std::ranges::sort(ranges, {}, &ArenaRange::begin);
  std::vector<ArenaRange> whole;
  for (const ArenaRange& range : ranges) {
    if (!whole.empty() && whole.back().end == range.begin) {
      whole.back().end = range.end;
    } else {
      whole.push_back(range);
    }
  }
  return whole;
}

ArenaRange range_of(const Variable& variable) {
  return {variable.offset, variable.offset + variable.elements};
}

std::size_t count_of(const ArenaRange& range) {
  return static_cast<std::size_t>(range.end - range.begin);
}
std::size_t bytes_of(const ArenaRange& range) { return count_of(range) * sizeof(float); }

bool has_gradient(const Variable& variable) { return variable.update != UpdateRule::none; }
bool is_state(const Variable& variable) { return variable.update == UpdateRule::running_average; }
bool is_learned(const Variable& variable) { return variable.update == UpdateRule::optimizer; }

}  // namespace

void DeviceTraffic::bring(std::span<const std::size_t> variables, const ParameterPlace& parameters,
                          Pass pass) {
  std::vector<ArenaRange> exact;
  std::vector<ArenaRange> rounded;
  for (const std::size_t variable : variables) {
    const Variable& brought = variables_[variable];
    if (is_brought_[variable] || (pass == Pass::train && is_state(brought))) continue;
    is_brought_[variable] = true;
    const bool is_exact = parameters.bfloat16.empty() || is_state(brought);
    (is_exact ? exact : rounded).push_back(range_of(brought));
  }
  for (const ArenaRange& range : joined(std::move(exact))) {
    memory_.staging().upload(parameters.arena.data() + range.begin,
                             memory_.parameters().data() + range.begin, bytes_of(range));
  }
  for (const ArenaRange& range : joined(std::move(rounded))) {
    bring_rounded(range, parameters.bfloat16);
  }
}

// Where gradients are rounded later in the step.
void DeviceTraffic::bring_rounded(const ArenaRange& range, std::span<const std::uint16_t> from) {
  std::uint16_t* const rounded = memory_.halves() + range.begin;
  memory_.staging().upload(from.data() + range.begin, rounded,
                           count_of(range) * sizeof(std::uint16_t));
  memory_.device().decode_bfloat16(memory_.parameters().data() + range.begin, rounded,
                                   count_of(range));
}

std::vector<ArenaRange> DeviceTraffic::ranges_of(std::span<const std::size_t> variables,
                                                 Matters matters) const {
  std::vector<ArenaRange> ranges;
  for (const std::size_t variable : variables) {
    if (matters(variables_[variable])) ranges.push_back(range_of(variables_[variable]));
  }
  return joined(std::move(ranges));
}

void DeviceTraffic::add_up(std::span<const std::size_t> variables) {
  for (const ArenaRange& range : ranges_of(variables, has_gradient)) {
    memory_.sums().finish(memory_.gradients().data(), static_cast<std::size_t>(range.begin),
                          static_cast<std::size_t>(range.end));
  }
}

void DeviceTraffic::send(std::vector<std::size_t> variables, const float* from,
                         const GradientPlace& to) {
  const bool is_rounded = !to.bfloat16.empty();
  for (const ArenaRange& range : ranges_of(variables, is_rounded ? is_state : has_gradient)) {
    memory_.staging().download(from + range.begin, to.arena.data() + range.begin, bytes_of(range));
  }
  if (is_rounded) {
    for (const ArenaRange& range : ranges_of(variables, is_learned)) {
      send_rounded(range, from, to.bfloat16);
    }
  }
  sent_.push_back({.variables = std::move(variables), .mark = memory_.staging().mark()});
}

void DeviceTraffic::send_rounded(const ArenaRange& range, const float* from,
                                 std::span<std::uint16_t> to) {
  std::uint16_t* const rounded = memory_.halves() + range.begin;
  memory_.device().encode_bfloat16(rounded, from + range.begin, count_of(range));
  memory_.staging().download(rounded, to.data() + range.begin,
                             count_of(range) * sizeof(std::uint16_t));
}

void DeviceTraffic::report_arrived(const std::function<void(std::size_t)>& on_final) {
  while (!sent_.empty() && memory_.staging().reached(sent_.front().mark)) report_first(on_final);
}

void DeviceTraffic::report_all(const std::function<void(std::size_t)>& on_final) {
  while (!sent_.empty()) {
    memory_.staging().wait(sent_.front().mark);
    report_first(on_final);
  }
}

void DeviceTraffic::report_first(const std::function<void(std::size_t)>& on_final) {
  require_sound(memory_.device());
  for (const std::size_t variable : sent_.front().variables) {
    if (on_final) on_final(variable);
  }
  sent_.pop_front();
}

}  // namespace trainyard::runtime
