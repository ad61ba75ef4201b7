// The options of trainyard-server: from flags, TRAINYARD_… variables and a JSON file, in that
// order of precedence.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "api/http/server.h"
#include "schemas/base/log.h"

namespace trainyard::api {

struct ServerProgramOptions {
  std::string state_dir;
  std::string http_address = "127.0.0.1:8080";
  std::string agent_address = "127.0.0.1:8081";
  Exposure exposure = Exposure::loopback_only;
  std::string ui_dir;  // "" = look for it
  std::int64_t stop_after_seconds = 60;
  std::int64_t lost_after_seconds = 90;
  LogLevel log_level = LogLevel::info;
};

// The program is to end at once: after --help, or because the options are wrong. What there is to
// say was said.
struct ExitNow {
  int code = 0;
};
std::variant<ServerProgramOptions, ExitNow> parse_options(int count, char** arguments);

}  // namespace trainyard::api
