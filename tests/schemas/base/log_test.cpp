#include "schemas/base/log.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

#include "schemas/base/check.h"

using namespace trainyard;

namespace {

// What is written to stderr while this lives.
class CapturedStderr {
 public:
  CapturedStderr() : file_(std::tmpfile()), saved_(::dup(STDERR_FILENO)) {
    ::dup2(::fileno(file_), STDERR_FILENO);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;
  ~CapturedStderr() {
    restore();
    std::fclose(file_);
  }

  std::vector<std::string> lines() {
    restore();
    std::rewind(file_);
    std::vector<std::string> lines(1);
    for (int byte = std::fgetc(file_); byte != EOF; byte = std::fgetc(file_)) {
      if (byte == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += static_cast<char>(byte);
      }
    }
    lines.pop_back();  // after the last newline
    return lines;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }

  std::FILE* file_;
  int saved_;
};

}  // namespace

TEST_CASE("text is escaped for JSON, and what is not UTF-8 is replaced", "[base]") {
  CHECK(json_escape("plain é") == "plain é");
  CHECK(json_escape("\"\\\n\r\t") == "\\\"\\\\\\n\\r\\t");
  CHECK(json_escape(std::string("\x01\x1f\0", 3)) == "\\u0001\\u001f\\u0000");
  CHECK(json_escape("\xFF") == "\xEF\xBF\xBD");
}

TEST_CASE("a log line is one JSON object with its fields in order", "[base]") {
  CapturedStderr captured;
  log_info("gang \"placed\"", {{"job", "7\n8"}, {"tasks", 3}, {"loss", 0.5}, {"done", true}});
  const auto lines = captured.lines();

  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("{\"time\":\"20"));
  CHECK(
      lines[0].ends_with("\"level\":\"info\",\"event\":\"gang \\\"placed\\\"\",\"job\":\"7\\n8\","
                         "\"tasks\":3,\"loss\":0.5,\"done\":true}"));
}

TEST_CASE("a number that JSON cannot say is logged as a string", "[base]") {
  CapturedStderr captured;
  log_warning("x", {{"a", std::numeric_limits<double>::quiet_NaN()},
                    {"b", -std::numeric_limits<double>::infinity()}});
  const auto lines = captured.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with("\"a\":\"nan\",\"b\":\"-inf\"}"));
}

TEST_CASE("lines below the level are dropped", "[base]") {
  CapturedStderr captured;
  set_log_level(LogLevel::error);
  log_warning("dropped");
  log_error("kept");
  set_log_level(LogLevel::info);
  const auto lines = captured.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("kept") != std::string::npos);
}

TEST_CASE("lines of several threads never mix", "[base]") {
  constexpr int each = 200;
  CapturedStderr captured;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([] {
        for (int i = 0; i < each; ++i) log_info("event", {{"text", std::string(300, 'x')}});
      });
    }
  }
  const auto lines = captured.lines();
  CHECK(lines.size() == 4 * each);
  for (const std::string& line : lines) {
    if (!line.starts_with("{\"time\"") || !line.ends_with("x\"}")) FAIL(line);
  }
}

TEST_CASE("while the log is held, the first line is the one that was waited for", "[base]") {
  CapturedStderr captured;
  {
    LogHold hold;
    log_info("early");
    log_error("cannot wait");
    hold.end_with_first("listening", {{"port", 1}});
    log_info("late");
  }
  const auto lines = captured.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].find("cannot wait") != std::string::npos);
  CHECK(lines[1].find("listening") != std::string::npos);
  CHECK(lines[2].find("early") != std::string::npos);
  CHECK(lines[3].find("late") != std::string::npos);
}

TEST_CASE("a log that is held is written in the end, whatever happens", "[base]") {
  CapturedStderr captured;
  {
    const LogHold hold;
    log_warning("kept");
  }
  CHECK(captured.lines().size() == 1);
}

TEST_CASE("every level of the log is read by its name", "[base]") {
  for (const LogLevel level : log_levels) CHECK(log_level_from(name_of(level)) == level);
  CHECK(log_level_from("loud") == std::nullopt);
}
