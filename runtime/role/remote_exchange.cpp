#include "runtime/role/remote_exchange.h"

#include "runtime/role/row_exchange.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

void RemoteExchange::begin_snapshot(std::int64_t snapshot, AfterSnapshot then) {
  switch (rule_) {
    case Rule::sync: ENSURE(link_->chief().ask_snapshot() == snapshot); break;
    case Rule::backup: link_->chief().want_snapshot(then); break;
    case Rule::async: link_->chief().begin_snapshot(snapshot, then); break;
  }
}

Result<std::int64_t> RemoteExchange::await_snapshot(std::int64_t snapshot) {
  if (rule_ != Rule::backup) return snapshot;
  return link_->chief().await_named_snapshot(snapshot);
}

// A later process of a rank has a greater number, unless a clock was set back; then the gang begins
// anew.
Result<std::unique_ptr<RowExchange>> RemoteExchange::open_rows() {
  using std::chrono::system_clock, std::chrono::microseconds;
  const auto now = system_clock::now().time_since_epoch();
  RowClient::Options options{.servers = {},
                             .token = rows_.token,
                             .rank = rows_.rank,
                             .process = std::chrono::duration_cast<microseconds>(now).count(),
                             .widths = rows_.widths,
                             .limit = rows_.limit,
                             .stop = link_->over()};
  const std::vector<std::int64_t> ports = link_->rows_ports();
  for (std::size_t ps = 0; ps < ports.size(); ++ps) {
    const std::string& chunks = rows_.servers[ps];
    const int port = static_cast<int>(ports[ps]);
    options.servers.push_back(
        {.address = chunks.substr(0, chunks.rfind(':') + 1) + std::to_string(port),
         .local_socket = rows_socket_name(rows_.token, ps, port_of(chunks))});
  }
  TRY_ASSIGN(auto client, RowClient::connect(std::move(options)));
  return std::unique_ptr<RowExchange>(std::make_unique<RemoteRows>(
      std::move(client), rule_ == Rule::async ? Mode::async : Mode::sync));
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
