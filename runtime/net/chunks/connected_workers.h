// The workers that are there, by rank: the newest connection of each, by which it is told things.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/net/chunks/server_connection.h"

namespace trainyard::runtime {

class ConnectedWorkers {
 public:
  explicit ConnectedWorkers(std::int64_t ranks);

  // None: nullptr.
  [[nodiscard]] ServerConnection* of(std::int64_t rank) const;
  // By rank; none: nullptr.
  [[nodiscard]] std::span<ServerConnection* const> all() const { return newest_; }
  // It has said its rank.
  void add(ServerConnection& connection);
  // True: it was the newest of its rank, which is not there any more.
  bool remove(const ServerConnection& connection);

  // A rank that is not there asks again when it is.
  void tell(std::int64_t rank, const FrameHeader& header, std::string payload = {}) const;
  void refuse_all(const std::string& why) const;

 private:
  std::vector<ServerConnection*> newest_;
};

}  // namespace trainyard::runtime
