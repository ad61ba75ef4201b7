// How numbers, times, names and tables read.
#include "api/client/text.h"

#include <catch2/catch.hpp>

namespace trainyard::client {

TEST_CASE("a duration has the two units that matter", "[client]") {
  CHECK(duration_text({0}) == "0.0s");
  CHECK(duration_text({430}) == "0.4s");
  CHECK(duration_text(seconds(12)) == "12s");
  CHECK(duration_text(seconds(185)) == "3m 05s");
  CHECK(duration_text(seconds(7'620)) == "2h 07m");
  CHECK(duration_text(seconds(4 * 86'400 + 3 * 3'600)) == "4d 03h");
  CHECK(duration_text({-5}) == "0.0s");
}

TEST_CASE("an age that is not known is a dash", "[client]") {
  CHECK(age_text({}, {100'000}) == "-");
  CHECK(age_text({40'000}, {100'000}) == "1m 00s");
}

TEST_CASE("large numbers are grouped by thousands", "[client]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(-1'234'567) == "-1,234,567");
  CHECK(grouped(-999) == "-999");
}

TEST_CASE("sizes are in the unit that leaves few digits", "[client]") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1'023) == "1023 B");
  CHECK(bytes_text(1'536) == "1.5 KiB");
  CHECK(bytes_text(318'040) == "311 KiB");
  CHECK(bytes_text(std::int64_t{5} << 30) == "5.0 GiB");
}

TEST_CASE("measurements keep four digits that matter", "[client]") {
  CHECK(decimal_text(0.98124) == "0.9812");
  CHECK(decimal_text(0) == "0.0000");
  CHECK(decimal_text(1.234e-7) == "1.234e-07");
  CHECK(decimal_text(61'234.0) == "61234");
}

TEST_CASE("printable lines keep their ends, whatever pieces they come in", "[client]") {
  const std::string text = "caf\xC3\xA9\t1\n\x1b]0;title\a\n\xF0\x9F\x9A\x82 \xE2\x82";
  const std::string wanted = "caf\xC3\xA9\t1\n?]0;title?\n\xF0\x9F\x9A\x82 ";
  PrintableLines whole;
  CHECK(whole.add(text) == wanted);
  CHECK_FALSE(whole.finish().empty());
  for (std::size_t at = 0; at < text.size(); ++at) {
    PrintableLines pieces;
    std::string shown = pieces.add(text.substr(0, at));
    shown += pieces.add(text.substr(at));
    CHECK(shown == wanted);
  }
}

TEST_CASE("printable text has no control characters and is valid UTF-8", "[client]") {
  CHECK(printable("caf\xC3\xA9\n\x1b[0m\x7f") == "caf\xC3\xA9??[0m?");
  CHECK(printable("\xC2\x9b[2J") == "?[2J");
  CHECK(printable("safe\xE2\x80\xAEtxt.exe") == "safe?txt.exe");
  CHECK(printable("\xE2\x81\xA6x\xE2\x81\xA9") == "?x?");
  CHECK(printable("\xE2\x80\x94") == "\xE2\x80\x94");  // a dash stays
  CHECK(printable("\xFF") == "\xEF\xBF\xBD");
}

TEST_CASE("columns of a table are as wide as their widest cell", "[client]") {
  Table table({{"NAME"}, {"STEP", Align::right}, {"STATE"}});
  table.add({"caf\xC3\xA9", "1,000", "running"});
  table.add({"x", "7", ""});

  CHECK(table.text() ==
        "NAME   STEP  STATE\n"
        "caf\xC3\xA9  1,000  running\n"
        "x         7\n");
}

TEST_CASE("a table that is wider than the window cuts the cells that may be cut",
          "[client][mend-B10]") {
  Table table({{"ID"}, {.title = "NAME", .columns_min = 4}, {"STATE"}});
  table.add({"j-1", "experiment-with-lr-0.1", "running"});
  table.add({"j-2", "x", "queued"});

  CHECK(table.text(27) ==
        "ID   NAME           STATE\n"
        "j-1  experi…lr-0.1  running\n"
        "j-2  x              queued\n");
  CHECK(table.text(5).starts_with("ID   NAME  STATE\n"));  // no narrower than it may be
  CHECK_THAT(table.text(), Catch::Contains("experiment-with-lr-0.1"));
}

}  // namespace trainyard::client
