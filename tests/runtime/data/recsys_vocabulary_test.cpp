#include "runtime/data/recsys_vocabulary.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/data/csv_text.h"
#include "runtime/data/recsys.h"
#include "schemas/files/sha256.h"
#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

namespace fs = std::filesystem;

DatasetSpec visits_spec(const TempFolder& folder, const std::string& text) {
  DatasetSpec spec;
  spec.name = "visits";
  spec.format = "recsys";
  spec.test_fraction = 0.25;
  spec.path = folder.write("visits.csv", text);
  spec.recsys = {.has_header = true,
                 .fields = {{.field = "both", .columns = {"who", "where"}},
                            {.field = "place", .columns = {"where"}, .is_single = true}},
                 .vocabulary = 100};
  return spec;
}

constexpr const char* visits =
    "who,where\nann,\"a \"\"pub\"\", old\"\nann,\" zoo\"\nbob, zoo\nann,\" zoo\"\n";

constexpr const char* visits_vocabulary =
    "field,column,id,value\n"
    "both,who,0,\nboth,who,1,ann\nboth,who,2,bob\n"
    "both,where,3,\nboth,where,4,\" zoo\"\nboth,where,5,\"a \"\"pub\"\", old\"\n"
    "both,where,6,zoo\n"
    "place,where,0,\nplace,where,1,\" zoo\"\nplace,where,2,\"a \"\"pub\"\", old\"\n"
    "place,where,3,zoo\n";

std::string vocabulary_of(const DatasetSpec& spec, const DataCache& cache = DataCache()) {
  const auto data = open_recsys(spec, 1, cache);
  if (!data) FAIL(data.error().message);
  return std::string((*data)->words());
}

}  // namespace

TEST_CASE("a vocabulary says of which value of which column each id is", "[recsys]") {
  const TempFolder folder;
  const DatasetSpec spec = visits_spec(folder, visits);
  CHECK(vocabulary_of(spec) == visits_vocabulary);
  const auto data = open_recsys(spec, 1, DataCache());
  REQUIRE(data);
  CHECK(shape_of(**data).words_sha256 == sha256_hex(visits_vocabulary));
}

TEST_CASE("what a vocabulary says of ids is what examples have", "[recsys]") {
  const TempFolder folder;
  const auto data = open_recsys(visits_spec(folder, visits), 1, DataCache());
  REQUIRE(data);
  std::map<std::string, std::string> values;  // by field and id
  std::vector<std::string> cells;
  CsvText text((*data)->words());
  while (true) {
    const auto more = text.next(cells);
    REQUIRE(more);
    if (!*more) break;
    REQUIRE(cells.size() == 4);
    values[cells[0] + cells[2]] = cells[3];
  }
  std::multiset<std::string> seen;
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(**data, split);
    const auto examples = static_cast<std::size_t>(batch.examples);
    for (std::size_t i = 0; i < examples; ++i) {
      const auto value = [&](const char* field, std::size_t at) {
        return values.at(field + std::to_string(batch.ids[at]));
      };
      CHECK(value("both", 2 * i + 1) == value("place", 2 * examples + i));
      seen.insert(value("both", 2 * i) + "@" + value("both", 2 * i + 1));
    }
  }
  CHECK(seen ==
        std::multiset<std::string>{"ann@a \"pub\", old", "ann@ zoo", "bob@zoo", "ann@ zoo"});
}

TEST_CASE("a vocabulary is the same by position and from a cache, and another of other values",
          "[recsys]") {
  const TempFolder folder;
  DatasetSpec spec = visits_spec(folder, visits);
  spec.recsys.fields[0].columns = {"0", "1"};
  spec.recsys.fields[1].columns = {"1"};
  CHECK(vocabulary_of(spec) == visits_vocabulary);

  fs::last_write_time(spec.path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const DataCache cache({.folder = folder.path("cache"), .bytes_max = 1 << 20});
  CHECK(vocabulary_of(spec, cache) == visits_vocabulary);
  CHECK(vocabulary_of(spec, cache) == visits_vocabulary);

  // The same number of ids, the same counts.
  const DatasetSpec other = visits_spec(folder, "who,where\nann,x\nann,z\nbea,y\nann,z\n");
  CHECK_FALSE(vocabulary_of(other) == visits_vocabulary);
  DatasetSpec turned = visits_spec(folder, visits);
  std::swap(turned.recsys.fields[0].columns[0], turned.recsys.fields[0].columns[1]);
  CHECK_FALSE(vocabulary_of(turned) == visits_vocabulary);
}

TEST_CASE("a vocabulary has the values that fit in it, and hashes have none", "[recsys]") {
  const TempFolder folder;
  DatasetSpec spec = visits_spec(folder, visits);
  spec.recsys.vocabulary = 2;
  CHECK(vocabulary_of(spec) ==
        "field,column,id,value\nboth,who,0,\nboth,who,1,ann\nboth,where,2,\n"
        "both,where,3,\" zoo\"\nplace,where,0,\nplace,where,1,\" zoo\"\n");
  spec.recsys.vocabulary = 0;
  spec.recsys.hash_buckets = 10;
  CHECK(vocabulary_of(spec).empty());
}

TEST_CASE("a vocabulary of more than a GiB is refused, and the field is named",
          "[recsys][large]") {
  // Many columns of one field of one value of 1 MiB: what is read is small, what is saved is not.
  std::vector<char> lines;
  add_value_line("x", lines);
  add_value_line(std::string(std::size_t{1} << 20, 'v'), lines);
  const std::vector<std::int64_t> counts{2};
  REQUIRE(has_a_line_for_each(lines, counts));
  const auto text_of = [&](std::size_t columns) {
    std::vector<FieldColumn> of_field(columns);
    return vocabulary_text({.fields = {{.name = "f", .example = {}, .ids = 2}},
                            .columns = {of_field},
                            .values = lines,
                            .counts = counts});
  };
  REQUIRE(text_of(2));
  const auto refused = text_of(1025);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK_THAT(refused.error().message, Catch::Matchers::StartsWith("dataset.vocabulary"));
}

TEST_CASE("a vocabulary's lines are as many as the ids", "[recsys]") {
  const std::string lines = "x\na\nb\ny\nc\n";
  const auto fits = [](const std::string& text, const std::vector<std::int64_t>& counts) {
    return has_a_line_for_each(text, counts);
  };
  CHECK(fits(lines, {3, 2}));
  CHECK_FALSE(fits(lines, {3, 3}));
  CHECK_FALSE(fits(lines, {3, 1}));
  CHECK_FALSE(fits(lines.substr(0, lines.size() - 1), {3, 1}));
  CHECK_FALSE(fits("", {}));
}

}  // namespace trainyard::runtime
