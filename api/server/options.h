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
  std::string ui_dir;        // "" = look for it
  bool adopt_state = false;  // the state folder's database may be another than the folder's own
  std::int64_t stop_after_seconds = 60;
  std::int64_t lost_after_seconds = 90;
  std::int64_t job_ttl_days = 0;  // 0 = for ever
  std::int64_t log_bytes_max = std::int64_t{256} << 20;
  std::int64_t agents_max = 1000;
  std::int64_t new_agents_per_minute = 600;
  std::int64_t new_agents_per_minute_of_address = 200;
  LogLevel log_level = LogLevel::info;
};

// The program is to end at once: after --help, or because the options are wrong. What there is to
// say was said.
struct ExitNow {
  int code = 0;
};
std::variant<ServerProgramOptions, ExitNow> parse_options(int count, char** arguments);

}  // namespace trainyard::api
