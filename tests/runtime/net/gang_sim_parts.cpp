// What RemoteParams does (runtime/net/remote_return.cpp) is done here in miniature.
#include "tests/runtime/net/gang_sim_parts.h"

#include <algorithm>
#include <utility>

#include "tests/runtime/net/gang.h"

namespace trainyard::runtime::test {

Frame push_frame(Mode mode, const Answer& newest, std::int64_t rank,
                 const StepProtocol::Ask& asked) {
  Frame frame;
  frame.gradient = std::make_shared<AlignedBuffer>(newest.weights->size());
  const auto gradient = frame.gradient->span();
  if (mode == Mode::sync) {
    fake_gradient(newest.weights->span(), rank, asked.step, gradient);
  } else {
    gradient[static_cast<std::size_t>(rank)] = -1;
  }
  frame.push = {.rank = rank,
                .step = asked.step,
                .base_version = newest.version,
                .sums = {.examples = 1},
                .snapshot_step = asked.snapshot_step,
                .gradient = payload_of(gradient, Share{.ranges = {{0, std::ssize(gradient)}}})};
  frame.push.gradient.owner = frame.gradient;
  return frame;
}

void Stream::lose(std::mt19937_64& random) {
  up.clear();
  from.reset();
  if (random() % 2 == 0) down.clear();
  broken = true;
  ended = true;
}

void Process::learn_clocks(const std::vector<std::int64_t>& taken) {
  const std::int64_t most = std::ranges::max(taken);
  for (std::size_t ps = 0; ps < taken.size(); ++ps) {
    clocks[ps].learn(taken[ps], most);
  }
}

void Process::note(std::size_t ps, Answer answer) {
  if (answer.weights) {
    clocks[ps].note({.version = answer.version,
                     .rank_step = answer.rank_step,
                     .clock = answer.clock,
                     .asked_snapshot = answer.asked_snapshot,
                     .turn = answer.turn});
  }
  answers[ps] = std::move(answer);
}

StepProtocol::Seen Process::take_answers() {
  StepProtocol::Seen seen{.version = answers.front()->version,
                          .oldest = answers.front()->version,
                          .newest = answers.front()->version,
                          .rank_step = answers.front()->rank_step,
                          .rank_step_max = answers.front()->rank_step,
                          .turn = answers.front()->turn,
                          .was_cut = std::exchange(was_cut, false)};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Answer& each = *answers[i];
    seen.oldest = std::min(seen.oldest, each.version);
    seen.newest = std::max(seen.newest, each.version);
    seen.rank_step = std::min(seen.rank_step, each.rank_step);
    seen.rank_step_max = std::max(seen.rank_step_max, each.rank_step);
    seen.asked_snapshot = std::max(seen.asked_snapshot, each.asked_snapshot);
    seen.inheritance.add(each.inheritance);
    if (each.weights) newest[i] = std::move(each);
    answers[i].reset();
  }
  return seen;
}

void Process::put(std::size_t ps, Frame frame) {
  last[ps] = frame;
  if (tells[ps]) {
    frame.told = clocks[ps].told(frame.pull ? 0 : frame.push.step);
    for (const ClockAtPs& each : clocks) each.add_to(*frame.told);
    clocks[ps].has_told(frame.told->version);
  }
  tells[ps] = false;
  unsent.emplace_back(ps, std::move(frame));
}

void Process::mend(std::size_t ps) {
  streams[ps] = {.number = streams[ps].number + 1};
  std::erase_if(unsent, [ps](const auto& each) { return each.first == ps; });
  Frame frame = last[ps];
  using enum ClockAtPs::Sent;
  if (!ClockAtPs::sends_same(frame.pull ? pull : answers[ps] ? answered_push : push)) {
    frame = {};
    frame.pull = Pull{.rank = rank};
  }
  answers[ps].reset();
  was_cut = true;
  tells[ps] = true;
  put(ps, std::move(frame));
}

}  // namespace trainyard::runtime::test
