// One structured line on stderr per call: JSON when stderr is a file or a pipe, words on a
// terminal. A line is written with a single write(2), so lines of several threads never mix.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

enum class LogLevel { debug, info, warning, error };
std::string_view name_of(LogLevel level);
std::optional<LogLevel> log_level_from(std::string_view name);
inline constexpr std::array log_levels{LogLevel::debug, LogLevel::info, LogLevel::warning,
                                       LogLevel::error};

// One `key=value` of a log line; numbers and booleans stay unquoted in the JSON form.
struct LogField {
  std::string_view key;
  std::string text;
  enum class Kind { string, number } kind = Kind::string;

  LogField(std::string_view name, std::string_view value) : key(name), text(value) {}
  LogField(std::string_view name, const char* value) : key(name), text(value) {}
  LogField(std::string_view name, const std::string& value) : key(name), text(value) {}
  LogField(std::string_view name, double value);
  LogField(std::string_view name, std::int64_t value)
      : key(name), text(std::to_string(value)), kind(Kind::number) {}
  LogField(std::string_view name, std::uint64_t value)
      : key(name), text(std::to_string(value)), kind(Kind::number) {}
  LogField(std::string_view name, int value) : LogField(name, std::int64_t{value}) {}
  LogField(std::string_view name, unsigned value) : LogField(name, std::uint64_t{value}) {}
  LogField(std::string_view name, bool value)
      : key(name), text(value ? "true" : "false"), kind(Kind::number) {}
};

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

// Lines below `level` are dropped. Set once, in main.
void set_log_level(LogLevel level);

// While one lives, lines wait in memory: for a program whose first line has to be another one.
// Errors do not wait. One at a time.
class LogHold {
 public:
  LogHold();
  ~LogHold();  // what waits is written
  LogHold(const LogHold&) = delete;
  LogHold& operator=(const LogHold&) = delete;

  // This line, then what waited; nothing waits any more.
  void end_with_first(std::string_view event, std::initializer_list<LogField> fields);
};

// The text with quotes, backslashes and control characters escaped as JSON asks; invalid UTF-8
// becomes U+FFFD.
std::string json_escape(std::string_view text);

inline void log_info(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::info, event, fields);
}
inline void log_warning(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::warning, event, fields);
}
inline void log_error(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::error, event, fields);
}

}  // namespace trainyard
