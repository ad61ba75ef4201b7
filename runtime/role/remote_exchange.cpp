#include "runtime/role/remote_exchange.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {

Result<StepExchange::Next> RemoteExchange::next() {
  TRY_ASSIGN(const WorkerLink::Next next, link_->next());
  return Next{.step = next.step, .is_over = next.is_over};
}

StepExchange::News RemoteExchange::take_news() {
  const WorkerLink::News news = link_->take_news();
  return {.version = news.version,
          .sums = news.sums,
          .traffic = {.sent = news.traffic.sent, .received = news.traffic.received}};
}

void RemoteExchange::begin_snapshot(std::int64_t snapshot, Then then) {
  if (mode_ == Mode::sync) {
    ENSURE(link_->ask_snapshot() == snapshot);
    return;
  }
  link_->begin_snapshot(
      snapshot, then == Then::last ? LinkRequests::Then::last : LinkRequests::Then::goes_on);
}

void RemoteExchange::leave(Leaving who) {
  link_->leave(who == Leaving::chief ? LinkRequests::Leaving::chief
                                     : LinkRequests::Leaving::worker);
}

std::vector<std::string> RemoteExchange::transports() const {
  std::vector<std::string> names;
  for (const Transport transport : link_->transports()) {
    const std::string_view name = find_name(transport_names, transport);
    names.emplace_back(transport == Transport::shared_memory ? "shared memory" : name);
  }
  return names;
}

}  // namespace trainyard::runtime
