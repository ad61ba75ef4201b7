#include "schemas/base/time.h"

#include <cstdio>
#include <ctime>

namespace trainyard {

std::string to_rfc3339(WallTime time) {
  if (!time.is_set()) return "";

  const std::int64_t millis = ((time.unix_millis % 1000) + 1000) % 1000;
  const std::time_t whole_seconds = (time.unix_millis - millis) / 1000;
  std::tm utc{};
  gmtime_r(&whole_seconds, &utc);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(millis));
  return text;
}

}  // namespace trainyard
