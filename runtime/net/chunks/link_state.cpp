#include "runtime/net/chunks/link_state.h"

#include <utility>

namespace trainyard::runtime {

LinkState::LinkState(Rules rules, WorkerArenas& arenas)
    : small(rules.servers.size()),
      exchange(std::move(rules.exchange), arenas, small,
               [this](const std::string& why) { fail(why); }),
      residuals(arenas),
      requests(arenas, rules.servers.size()),
      peers(std::move(rules.servers), rules.limits),
      stop(rules.stop),
      on_stop(std::move(rules.stop), [this] { over.request_stop(); }) {}

Status LinkState::may_wait(LinkPeers::Clock::time_point since) const {
  if (failed) return *failed;
  if (stop.stop_requested()) return unavailable("asked to stop");
  if (const auto why = peers.silence(since)) return unavailable(*why);
  return ok();
}

void LinkState::step(const ExchangeEvent& event) {
  exchange.step(event);
  changed.notify_all();
}

void LinkState::fail(const std::string& why, Failure failure) {
  if (!failed) {
    failed = unavailable(why);
    differs = failure == Failure::of_fingerprint;
  }
  changed.notify_all();
}

void LinkState::look_for_gone() {
  if (const auto ps = peers.gone()) fail("ps " + peers.address(*ps) + " is gone");
}

void LinkState::ask_unanswered() {
  for (std::size_t ps = 0; ps < peers.count(); ++ps) ask_unanswered(ps);
}

void LinkState::ask_unanswered(std::size_t ps) {
  for (auto& frame : requests.unanswered(ps)) small.add(ps, std::move(frame));
}

}  // namespace trainyard::runtime
