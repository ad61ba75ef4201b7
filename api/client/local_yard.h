// A server and one agent as children of this process: Trainyard on one machine. It restarts
// nothing: when one of them ends, it says so, ends the other and returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/client/child.h"
#include "schemas/base/result.h"
#include "schemas/base/time.h"

namespace trainyard::client {

struct LocalYardOptions {
  std::string state_dir;       // server/, agent/, server.log, agent.log, lock
  std::string agent_work_dir;  // "" = agent/ in the state folder
  std::string http_address;
  std::string agent_address;
  std::vector<std::string> server_arguments;  // further ones, passed on as they are
  std::vector<std::string> agent_arguments;
};

// Runs until a signal or the end of a child. Returns the exit code: 0 after SIGINT or SIGTERM and
// an orderly end, else the status of the child that ended. Errors: a folder or program that is not
// there.
Result<int> run_local_yard(const LocalYardOptions& options);

// What the first log line of trainyard-server says; nothing when the line says something else.
struct ListeningAddresses {
  std::string http;
  std::string agents;
  bool operator==(const ListeningAddresses&) const = default;
};
std::optional<ListeningAddresses> parse_listening_line(const std::string& line);

// A daemon's log line for people: "warning: event key=value"; nothing for lines of no concern to
// them.
std::optional<std::string> words_of_log_line(const std::string& line);

}  // namespace trainyard::client
