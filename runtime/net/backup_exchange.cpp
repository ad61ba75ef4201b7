// Exchanges with several ps where there are backup workers: ps 0 first, which says how its version
// was made, then the others, who are told. Nobody waits for the slower workers, so the ps may go on
// meanwhile: then it is all asked again, until it is of one version.
#include <algorithm>
#include <ranges>
#include <utility>

#include "runtime/net/remote_ps.h"

namespace trainyard::runtime {

bool RemoteParams::asks_leader_first() const { return options_.backup_workers && ps_.size() > 1; }

// After the gradients were sent: until every ps holds them, ps 0 must not count them.
Status RemoteParams::wait_until_held() {
  TRY(receive_sent());
  for (const auto& ps : ps_) {
    if (!std::exchange(ps->holds, false)) {
      return ps->explain(invalid("answered a push before all ps had it"));
    }
  }
  return ok();
}

// `first` is for ps 0: a pull, or that the rank is ready.
Result<Pulled> RemoteParams::pull_leader_first(proto::PushFrame first, proto::Encoding wanted) {
  const Patience patience = patience_for(options_.exchange_limit);
  Ps& leader = *ps_.front();
  leader.wanted = wanted;
  TRY(send(leader, first, {}));
  TRY(receive_parameters());
  const bool contributed = !first.ready() || leader.made_of(first.step(), options_.rank);
  BatchSums sums = leader.pulled.sums;
  TRY(tell_others(wanted));
  TRY(receive_parameters());
  // All are asked at once: who is slow to read all of an answer might else never find the ps where
  // they were when the first was asked.
  for (;;) {
    const auto [oldest, newest] = std::ranges::minmax(
        ps_ | std::views::transform([](const auto& ps) { return ps->version; }));
    if (oldest == newest) break;
    if (WallClock::now() > patience.deadline) {
      return unavailable("parameters of one version did not come in time");
    }
    TRY(tell_others(wanted));
    proto::PushFrame again;
    again.set_step(newest);
    leader.wanted = wanted;
    TRY(send(leader, again, {}));
    TRY(receive_parameters());
    sums += leader.pulled.sums;
  }
  Pulled pulled = together();
  pulled.sums = sums;
  pulled.contributed = contributed;
  return pulled;
}

// How ps 0 made the version that it answered with last. Nobody waits for more than that.
Status RemoteParams::tell_others(proto::Encoding wanted) {
  const Ps& leader = *ps_.front();
  for (std::size_t i = 1; i < ps_.size(); ++i) {
    proto::PushFrame told;
    told.set_step(leader.version);
    if (leader.made.version() > 0) *told.mutable_made() = leader.made;
    ps_[i]->wanted = wanted;
    TRY(send(*ps_[i], told, {}));
  }
  return ok();
}

Status RemoteParams::receive_parameters() {
  TRY(receive_sent());
  for (const auto& ps : ps_) {
    if (ps->holds) return ps->explain(invalid("answered without parameters"));
  }
  return ok();
}

}  // namespace trainyard::runtime
