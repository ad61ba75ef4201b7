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
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
                utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                static_cast<int>(millis));
  return text;
}

}  // namespace trainyard
