#include "runtime/net/chunks/connected_workers.h"

#include <utility>

#include "schemas/base/index.h"

namespace trainyard::runtime {

ConnectedWorkers::ConnectedWorkers(std::int64_t ranks) : newest_(index_of(ranks)) {}

ServerConnection* ConnectedWorkers::of(std::int64_t rank) const { return newest_[index_of(rank)]; }

void ConnectedWorkers::add(ServerConnection& connection) {
  newest_[index_of(connection.rank)] = &connection;
}

bool ConnectedWorkers::remove(const ServerConnection& connection) {
  if (connection.rank < 0 || of(connection.rank) != &connection) return false;
  newest_[index_of(connection.rank)] = nullptr;
  return true;
}

void ConnectedWorkers::tell(std::int64_t rank, const FrameHeader& header,
                            std::string payload) const {
  ServerConnection* const connection = of(rank);
  if (connection != nullptr) connection->tell(header, std::move(payload));
}

void ConnectedWorkers::refuse_all(const std::string& why) const {
  for (ServerConnection* const connection : newest_) {
    if (connection != nullptr) connection->refuse(unavailable(why));
  }
}

}  // namespace trainyard::runtime
