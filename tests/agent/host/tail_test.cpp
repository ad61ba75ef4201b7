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

TEST_CASE("a line longer than the limit is skipped and does not block what follows", "[tail]") {
  const TempFolder folder;
  write_content(folder.path("events"), std::string(25, 'x') + "\nnext\n");

  std::vector<std::string> lines;
  std::int64_t offset = 0;
  while (true) {
    const auto read = read_lines(folder.path("events"), offset, 10);
    REQUIRE(read);
    if (read->end == offset) break;
    offset = read->end;
    for (const TailLine& line : read->lines) lines.push_back(line.text);
  }

  CHECK(lines.back() == "next");
  CHECK(offset == 31);
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
