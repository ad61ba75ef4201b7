#include "schemas/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "schemas/base/clock.h"
#include "schemas/base/utf8.h"

namespace trainyard {
namespace {

std::atomic<LogLevel> lowest_level{LogLevel::info};

// What LogHold keeps back.
struct HeldLines {
  std::mutex mutex;
  std::vector<std::string> lines;    // guarded by mutex
  std::atomic<bool> holding{false};  // changed under mutex
};
HeldLines held;

std::string json_line(LogLevel level, std::string_view event,
                      std::initializer_list<LogField> fields) {
  std::string line = "{\"time\":\"" + to_rfc3339(read_clocks().wall) + "\",\"level\":\"";
  line += name_of(level);
  line += "\",\"event\":\"" + json_escape(event) + "\"";
  for (const LogField& field : fields) {
    line += ",\"" + json_escape(field.key) + "\":";
    if (field.kind == LogField::Kind::number) {
      line += field.text;
    } else {
      line += '"' + json_escape(field.text) + '"';
    }
  }
  return line + "}\n";
}

std::string human_line(LogLevel level, std::string_view event,
                       std::initializer_list<LogField> fields) {
  std::string line = to_rfc3339(read_clocks().wall).substr(11, 12);
  line += ' ';
  line += name_of(level);
  line += ' ';
  line += event;
  for (const LogField& field : fields) {
    line += "  ";
    line += field.key;
    line += '=';
    line += json_escape(field.text);
  }
  return line + "\n";
}

// A full or closed stderr must not stop the program, and there is nowhere left to say so.
void write_line(const std::string& line) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string line_of(LogLevel level, std::string_view event,
                    std::initializer_list<LogField> fields) {
  static const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
  return on_terminal ? human_line(level, event, fields) : json_line(level, event, fields);
}

void release_held() {
  const std::lock_guard lock(held.mutex);
  held.holding = false;
  for (const std::string& line : held.lines) write_line(line);
  held.lines.clear();
}

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "error";
}

std::optional<LogLevel> log_level_from(std::string_view name) {
  for (const LogLevel level : log_levels) {
    if (name_of(level) == name) return level;
  }
  return std::nullopt;
}

LogField::LogField(std::string_view name, double value) : key(name), kind(Kind::number) {
  if (!std::isfinite(value)) {
    text = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    kind = Kind::string;
    return;
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  text = digits;
}

void set_log_level(LogLevel level) { lowest_level = level; }

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (level < lowest_level.load(std::memory_order_relaxed)) return;

  std::string line = line_of(level, event, fields);
  if (level < LogLevel::error && held.holding) {
    const std::lock_guard lock(held.mutex);
    if (held.holding) {
      held.lines.push_back(std::move(line));
      return;
    }
  }
  write_line(line);
}

LogHold::LogHold() { held.holding = true; }
LogHold::~LogHold() { release_held(); }

void LogHold::end_with_first(std::string_view event, std::initializer_list<LogField> fields) {
  if (LogLevel::info >= lowest_level) write_line(line_of(LogLevel::info, event, fields));
  release_held();
}

std::string json_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  for (const char byte : to_valid_utf8(text)) {
    switch (byte) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(byte) < 0x20) {
          char escaped[8];
          std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(byte));
          out += escaped;
        } else {
          out += byte;
        }
    }
  }
  return out;
}

}  // namespace trainyard
