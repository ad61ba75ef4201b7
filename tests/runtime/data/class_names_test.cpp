// Names of classes as a reader keeps them: whole, or known to be damaged.
#include "runtime/data/class_names.h"

#include <catch2/catch.hpp>
#include <utility>

namespace trainyard::runtime {

namespace {

DecodedData kept(PackedNames names) {
  return decoded_data({}, std::vector<float>{}, std::move(names.ends), std::move(names.bytes));
}

}  // namespace

TEST_CASE("names of classes are kept whole, whatever is in them", "[class_names]") {
  const std::vector<std::string> names{"", "a,\n\"b\"", std::string("\0c", 2), "\xFF"};
  const DecodedData data = kept(pack_names(names));
  CHECK(are_names(data, 1, 4));
  CHECK(unpack_names(data, 1) == names);
  CHECK_FALSE(are_names(data, 1, 3));

  const DecodedData none = kept(pack_names({}));
  CHECK(are_names(none, 1, 4));
  CHECK(are_names(none, 1, -1));
  CHECK(unpack_names(none, 1).empty());
}

TEST_CASE("damaged names of classes are none", "[class_names]") {
  const std::vector<char> bytes{'a', 'b', 'c'};
  for (const auto& ends : std::vector<std::vector<std::int64_t>>{
           {}, {1, 2}, {1, 4}, {-1, 3}, {4, 3}, {std::int64_t{1} << 62, 3}}) {
    CHECK_FALSE(are_names(kept({.ends = ends, .bytes = bytes}), 1, 2));
  }
  CHECK(are_names(kept({.ends = {1, 3}, .bytes = bytes}), 1, 2));
}

}  // namespace trainyard::runtime
