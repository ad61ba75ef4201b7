// What the log lines of server and agent (schemas/base/log.h) mean to the one who runs both.
#include <nlohmann/json.hpp>

#include "api/client/json_read.h"
#include "api/client/local_yard.h"
#include "api/client/text.h"

namespace trainyard::client {

std::optional<ListeningAddresses> parse_listening_line(const std::string& line) {
  const nlohmann::json fields = nlohmann::json::parse(line, nullptr, false);
  if (text_of(fields, "event") != "listening") return std::nullopt;
  ListeningAddresses addresses{.http = text_of(fields, "http_address"),
                               .agents = text_of(fields, "agent_address")};
  if (addresses.http.empty() || addresses.agents.empty()) return std::nullopt;
  return addresses;
}

std::optional<std::string> words_of_log_line(const std::string& line) {
  const nlohmann::json fields = nlohmann::json::parse(line, nullptr, false);
  if (!fields.is_object()) return printable(line);  // no log line: a library's words, or a crash
  const std::string level = text_of(fields, "level");
  if (level != "warning" && level != "error") return std::nullopt;
  std::string words = level + ": " + printable(text_of(fields, "event"));
  for (const auto& [key, value] : fields.items()) {
    if (key == "time" || key == "level" || key == "event") continue;
    words += " " + printable(key) + "=" +
             printable(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return words;
}

}  // namespace trainyard::client
