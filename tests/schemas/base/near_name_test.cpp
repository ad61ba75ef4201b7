#include "schemas/base/near_name.h"

#include <catch2/catch.hpp>

namespace trainyard {
namespace {

const std::vector<std::string_view> optimizers{"sgd", "momentum", "nesterov", "adam", "adamw"};

}  // namespace

TEST_CASE("a name that is nearly another is taken for it", "[near_name]") {
  CHECK(near_name("adm", optimizers) == "adam");
  CHECK(near_name("sdg", optimizers) == "sgd");
  CHECK(near_name("adma", optimizers) == "adam");
  CHECK(near_name("adamww", optimizers) == "adamw");
  CHECK(near_name("momentun", optimizers) == "momentum");
  CHECK(near_name("ADAM", optimizers) == "adam");
  CHECK(near_name("ADMA", optimizers) == "adam");
  CHECK(near_name("Nesterof", optimizers) == "nesterov");
  CHECK(near_name("unit", {"init", "units"}) == "units");  // both are near, one begins so
  CHECK(near_name("unit", {"units", "init"}) == "units");
  CHECK(did_you_mean("adma", optimizers) == "; did you mean \"adam\"?");
}

TEST_CASE("a name that is near to none, or to two, is taken for none", "[near_name]") {
  CHECK_FALSE(near_name("", optimizers));
  CHECK_FALSE(near_name("lion", optimizers));
  CHECK_FALSE(near_name("mom", optimizers));
  CHECK_FALSE(near_name("ab", {"ax", "ay"}));
  CHECK(near_name("ab", {"ax", "ay", "ab"}) == "ab");
  CHECK(near_name("adm", {"adam", "adam"}) == "adam");  // one name, twice
  CHECK_FALSE(near_name("adam", {}));
  CHECK_FALSE(near_name(std::string(65, 'a'), {std::string_view("aaa")}));
  CHECK(did_you_mean("lion", optimizers).empty());
}

}  // namespace trainyard
