// A log that outgrows its bound: what stays, what it takes of the disk, what is shipped of it.
#include "agent/loop/log_bound.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::agent;

namespace {

constexpr std::int64_t bytes_max = 4 << 20;

struct GrowingLog {
  TempFolder folder;
  std::string path = folder.path("task.log");
  std::int64_t lines = 0;

  // Numbered lines of 16 bytes.
  void grow(std::int64_t bytes) {
    std::ofstream file(path, std::ios::app | std::ios::binary);
    for (; bytes > 0; bytes -= 16) {
      std::string line = std::to_string(lines++);
      file << line.append(15 - line.size(), '.') << '\n';
    }
  }
  [[nodiscard]] std::int64_t on_disk() const {
    struct stat facts {};
    REQUIRE(::stat(path.c_str(), &facts) == 0);
    return facts.st_blocks * 512;
  }
  LogCut bound(std::int64_t shipped, const LogCut& cut) {
    const auto bounded =
        bound_log({.path = path, .bytes_max = bytes_max, .shipped = shipped, .cut = cut});
    REQUIRE(bounded.has_value());
    return *bounded;
  }
  [[nodiscard]] std::string shipped_whole(const LogCut& cut) const {
    std::string text;
    while (true) {
      const auto piece =
          read_log(path, cut, {.offset = std::ssize(text), .bytes_max = 100'000, .ended = true});
      REQUIRE(piece.has_value());
      if (piece->empty()) return text;
      text += *piece;
    }
  }
};

}  // namespace

TEST_CASE("a log within its bound is shipped as it is", "[agent][mend-B15]") {
  GrowingLog log;
  log.grow(bytes_max / 2);

  const LogCut cut = log.bound(0, {});

  CHECK(cut.end == 0);
  CHECK(std::ssize(log.shipped_whole(cut)) == bytes_max / 2);
}

TEST_CASE("how far a log has come is read as it was written, and nonsense is no way", "[agent]") {
  const TempFolder folder;
  const std::string log = folder.path("task.log");
  CHECK(written_progress(log).shipped == 0);
  REQUIRE(write_progress(log, {.shipped = 70'000, .cut = {.begin = 4096, .end = 8192}}));
  CHECK(written_progress(log).shipped == 70'000);
  CHECK(written_progress(log).cut.begin == 4096);
  CHECK(written_progress(log).cut.end == 8192);
  for (const char* text :
       {"", "x", "-1 0 0", "5 9 3", "5 -4 8", "5 1", "99999999999999999999 0 0"}) {
    write_content(log + ".progress", text);
    INFO(text);
    CHECK(written_progress(log).shipped == 0);
    CHECK(written_progress(log).cut.end == 0);
  }
}

TEST_CASE("a log that grows for ever keeps its head and its newest bytes", "[agent][mend-B15]") {
  const bool is_shipped = GENERATE(true, false);
  GrowingLog log;
  LogCut cut;
  std::int64_t shipped = 0;
  for (int round = 0; round < 20; ++round) {
    log.grow(3 << 20);
    cut = log.bound(shipped, cut);
    if (is_shipped) shipped = cut.end == 0 ? log.lines * 16 : cut.begin;
    CHECK(log.on_disk() < bytes_max + (1 << 20));
  }

  const std::string text = log.shipped_whole(cut);
  if (!is_shipped) CHECK(text.starts_with("0.............."));
  CHECK(text.ends_with(std::to_string(log.lines - 1) + std::string(8, '.') + '\n'));
  CHECK(text.find("bytes are cut out here]") != std::string::npos);
  const auto unfinished =
      read_log(log.path, cut, {.offset = cut.begin, .bytes_max = 1000, .ended = false});
  REQUIRE(unfinished.has_value());
  CHECK(unfinished->empty());  // it may be cut yet
}
