// Columns of characters of any alphabet, and names cut to fit.
#include "api/client/columns.h"

#include <catch2/catch.hpp>

namespace trainyard::client {

TEST_CASE("a character takes the columns that a terminal gives it", "[client][mend-B5]") {
  CHECK(width_of("digits") == 6);
  CHECK(width_of("caf\u00e9") == 4);
  CHECK(width_of("cafe\u0301") == 4);  // the accent sits on the letter before
  CHECK(width_of("\u8a13\u7df4") == 4);
  CHECK(width_of("\U0001F682") == 2);
  CHECK(width_of("\xFF\xE8x") == 3);  // no characters at all: one for each byte
}

TEST_CASE("what is too long loses its middle, or its end", "[client][mend-B5]") {
  CHECK(shortened("digits", 6) == "digits");
  CHECK(shortened("experiment-0.1", 9) == "expe…-0.1");
  CHECK(shortened("\u8a13\u7df4\u8a13\u7df4", 6) == "\u8a13…\u7df4");
  CHECK(shortened("abc", 1) == "…");
  CHECK(shortened("abc", 0).empty());
  CHECK(cut_short("no host has 3 free cpus", 8) == "no host…");
  CHECK(cut_short("no", 2) == "no");
  for (std::size_t columns = 0; columns < 12; ++columns) {
    CHECK(width_of(shortened("e\u0301\u8a13x\u7df4\U0001F682abc", columns)) <= columns);
  }
}

TEST_CASE("a file's name keeps letters of any alphabet and nothing that leads elsewhere",
          "[client][mend-B10]") {
  CHECK(file_stem_of("digits_mlp-1.2") == "digits_mlp-1.2");
  CHECK(file_stem_of("Größe-мнист-訓練") == "Größe-мнист-訓練");
  CHECK(file_stem_of("cafe\u0301") == "cafe\u0301");
  CHECK(file_stem_of("../../etc/passwd") == "model..-..-etc-passwd");
  CHECK(file_stem_of("-rf *") == "model-rf--");
  CHECK(file_stem_of("a\nb\u202ec\xFF") == "a-b-c-");
}

}  // namespace trainyard::client
