// What an answer looks like on its way, whichever that is.
#include "runtime/net/ps_caller.h"

#include <algorithm>
#include <cstddef>

#include "runtime/net/made_step.h"

namespace trainyard::runtime {

proto::PullFrame pull_frame_of(const Answer& answer, proto::Encoding encoding) {
  proto::PullFrame header;
  if (!answer.weights) {
    header.set_held(true);
    if (!answer.inheritance.asked()) return header;
    header.mutable_inheritance()->set_step(answer.inheritance.step);
    for (const std::int64_t rank : answer.inheritance.ranks) {
      header.mutable_inheritance()->add_ranks(rank);
    }
    return header;
  }
  header.set_encoding(encoding);
  header.set_version(answer.version);
  header.set_staleness(answer.sums.staleness);
  header.set_rank_step(answer.rank_step);
  header.set_examples(answer.sums.examples);
  header.set_loss_sum(answer.sums.loss_sum);
  header.set_correct(answer.sums.correct);
  header.set_asked_snapshot(answer.asked_snapshot);
  header.set_apply_seconds(answer.apply_seconds);
  header.set_turn(answer.turn);
  header.set_clock(answer.clock);
  if (answer.made.version > 0) *header.mutable_made() = message_of(answer.made);
  header.set_lost_updates(answer.lost_updates);
  const StalenessCounts& stale = answer.sums.stale;
  if (stale.total() == 0) return header;
  for (const std::int64_t count : stale.updates()) header.add_staleness_counts(count);
  header.set_staleness_largest(stale.largest());
  return header;
}

Payload parameters_of(const Answer& answer, proto::Encoding encoding) {
  if (!answer.weights) return {};
  const auto bytes = encoding == proto::BFLOAT16 ? answer.weights->rounded_bytes()
                                                 : std::as_bytes(answer.weights->span());
  return {.pieces = {bytes}, .owner = answer.weights};
}

StalenessCounts stale_of(const proto::PullFrame& frame) {
  StalenessCounts::Updates updates{};
  const auto told = static_cast<std::size_t>(frame.staleness_counts_size());
  for (std::size_t i = 0; i < std::min(told, updates.size()); ++i) {
    updates[i] = frame.staleness_counts(static_cast<int>(i));
  }
  return {updates, frame.staleness_largest()};
}

}  // namespace trainyard::runtime
