// What a program is about to do by a system call, in the words of the protocol between worker and
// ps where it is a task: "sends gradient", "receives welcome", "renames to manifest.json".
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <span>
#include <string>

#include "tests/e2e/call_watch.h"

namespace trainyard::e2e {

// The calls by which our programs are seen from outside.
std::span<const int> seen_calls();

struct ProtocolPoint {
  std::string role;  // "chief", "worker", "ps", "agent", "server"
  std::string what;
  auto operator<=>(const ProtocolPoint&) const = default;
};

// Knows what the connections of each task are.
class ProtocolPoints {
 public:
  // Nothing where the caller is no program of ours, or nothing comes of the call: nothing is there
  // to receive.
  std::optional<ProtocolPoint> of(const WatchedCall& call);
  // The tasks that are known are gone: others may have their numbers.
  void forget_tasks() { tasks_.clear(); }

 private:
  std::optional<std::string> role_of(pid_t process);
  std::optional<std::string> what_of(const WatchedCall& call, const std::string& role);
  std::optional<std::string> sent(const WatchedCall& call, const std::string& role);
  std::optional<std::string> received(const WatchedCall& call, const std::string& role);
  std::string& newest_frame(const WatchedCall& call);

  // Of each way of a socket, what the newest frame is; "": none has been seen, it is no such
  // socket.
  std::map<std::string, std::string> frames_;
  std::map<pid_t, std::string> tasks_;  // their roles
};

// What a message says that is about to be sent, from its first byte on; at most `most` bytes.
std::string sent_bytes(const WatchedCall& call, std::size_t most);
// By one that has files to pass on no other can stand in.
bool passes_files(const WatchedCall& call);

}  // namespace trainyard::e2e
