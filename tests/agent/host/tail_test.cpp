#include "agent/host/tail.h"

#include <catch2/catch.hpp>

#include "tests/support/temp_folder.h"

namespace trainyard::agent {

TEST_CASE("only whole lines are read, each with its offset", "[tail]") {
  const TempFolder folder;
  write_content(folder.path("events"), "one\ntwo\nthr");

  const auto first = read_lines(folder.path("events"), 0, 1000);
  REQUIRE(first);
  REQUIRE(first->lines.size() == 2);
  CHECK(first->lines[1].offset == 4);
  CHECK(first->lines[1].text == "two");
  CHECK(first->end == 8);

  write_content(folder.path("events"), "one\ntwo\nthree\n");
  const auto second = read_lines(folder.path("events"), first->end, 1000);
  REQUIRE(second->lines.size() == 1);
  CHECK(second->lines[0].text == "three");
  CHECK(second->end == 14);
  CHECK(read_lines(folder.path("events"), 14, 1000)->lines.empty());
}

TEST_CASE("reading goes on where the limit ended it", "[tail]") {
  const TempFolder folder;
  write_content(folder.path("events"), "one\ntwo\nthree\n");

  const auto first = read_lines(folder.path("events"), 0, 9);

  REQUIRE(first->lines.size() == 2);
  CHECK(read_lines(folder.path("events"), first->end, 9)->lines.at(0).text == "three");
}

TEST_CASE("a line longer than the limit is there once, and does not block what follows", "[tail]") {
  // Its newline comes just behind a limit, or elsewhere.
  const std::size_t length = GENERATE(10U, 11U, 19U, 20U, 25U, 30U, 3000U);
  const TempFolder folder;
  write_content(folder.path("events"),
                "first\n" + std::string(length, 'x') + "\nnext\n" + std::string(12, 'y') + "\n");

  std::vector<TailLine> lines;
  std::int64_t offset = 0;
  while (true) {
    const auto read = read_lines(folder.path("events"), offset, 10);
    REQUIRE(read);
    if (read->end == offset) break;
    offset = read->end;
    lines.insert(lines.end(), read->lines.begin(), read->lines.end());
  }

  CHECK(offset == file_size(folder.path("events")));
  REQUIRE(lines.size() == 4);
  CHECK(lines[1].too_long);
  CHECK(lines[1].text.empty());
  CHECK(lines[1].offset == 6);
  CHECK(lines[2].text == "next");
  CHECK_FALSE(lines[2].too_long);
  CHECK(lines[2].offset == static_cast<std::int64_t>(length) + 7);
  CHECK(lines[3].too_long);
}

TEST_CASE("a line as long as the limit allows is whole, and an empty one is a line", "[tail]") {
  const TempFolder folder;
  write_content(folder.path("events"), "123456789\n\nend\n");

  const auto first = read_lines(folder.path("events"), 0, 10);
  REQUIRE(first);
  REQUIRE(first->lines.size() == 1);
  CHECK(first->lines[0].text == "123456789");

  const auto second = read_lines(folder.path("events"), first->end, 10);
  REQUIRE(second);
  REQUIRE(second->lines.size() == 2);
  CHECK(second->lines[0].text.empty());
  CHECK_FALSE(second->lines[0].too_long);
  CHECK(second->lines[1].text == "end");
}

TEST_CASE("a line that is too long and has no end yet is left where it was read to", "[tail]") {
  const TempFolder folder;
  write_content(folder.path("events"), std::string(14, 'x'));

  const auto begin = read_lines(folder.path("events"), 0, 10);
  REQUIRE(begin);
  CHECK(begin->lines.size() == 1);
  CHECK(begin->end == 10);
  const auto rest = read_lines(folder.path("events"), 10, 10);
  REQUIRE(rest);
  CHECK(rest->lines.empty());
  CHECK(rest->end == 10);
}

TEST_CASE("a file that is not there yet is empty", "[tail]") {
  const TempFolder folder;
  CHECK(read_lines(folder.path("none"), 0, 10)->lines.empty());
  CHECK(read_piece(folder.path("none"), 0, 10)->empty());
  CHECK(last_lines(folder.path("none"), 5).empty());
  CHECK(file_size(folder.path("none")) == 0);
}

TEST_CASE("the last lines of a log, long or short", "[tail]") {
  const TempFolder folder;
  write_content(folder.path("log"), "a\nb\nc\n");
  CHECK(last_lines(folder.path("log"), 2) == "b\nc\n");
  CHECK(last_lines(folder.path("log"), 3) == "a\nb\nc\n");
  CHECK(last_lines(folder.path("log"), 9) == "a\nb\nc\n");
  write_content(folder.path("log"), "a\nunfinished");
  CHECK(last_lines(folder.path("log"), 1) == "unfinished");
  write_content(folder.path("log"), std::string(100'000, 'x') + "\nend\n");
  CHECK(last_lines(folder.path("log"), 50).size() == 16 * 1024);
}

}  // namespace trainyard::agent
