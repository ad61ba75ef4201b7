// Exchanges with several ps where there are backup workers: ps 0 first, which says how its version
// was made, then the others, who are told. Nobody waits for the slower workers, so the ps may go on
// meanwhile: then it is all asked again, until it is of one version.
#include <algorithm>
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
  Ps& leader = *ps_.front();
  bool contributed = true;
  BatchSums sums;
  for (;;) {
    leader.wanted = wanted;
    TRY(send(leader, first, {}));
    TRY(receive_parameters());
    if (first.ready()) contributed = leader.made_of(first.step(), options_.rank);
    sums += leader.pulled.sums;

    for (std::size_t i = 1; i < ps_.size(); ++i) {
      proto::PushFrame told;
      told.set_step(leader.version);
      if (leader.made.version() > 0) *told.mutable_made() = leader.made;
      ps_[i]->wanted = wanted;
      TRY(send(*ps_[i], told, {}));
    }
    TRY(receive_parameters());
    const auto newest =
        std::ranges::max_element(ps_, {}, [](const auto& ps) { return ps->version; });
    if ((*newest)->version == leader.version) break;
    first = {};
    first.set_step((*newest)->version);
  }
  Pulled pulled = together();
  pulled.sums = sums;
  pulled.contributed = contributed;
  return pulled;
}

Status RemoteParams::receive_parameters() {
  TRY(receive_sent());
  for (const auto& ps : ps_) {
    if (ps->holds) return ps->explain(invalid("answered without parameters"));
  }
  return ok();
}

}  // namespace trainyard::runtime
