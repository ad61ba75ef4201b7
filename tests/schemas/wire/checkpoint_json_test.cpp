#include "schemas/wire/checkpoint_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/schemas/wire/random_values.h"

using namespace trainyard;

TEST_CASE("manifests come back as they were", "[wire]") {
  RandomValues random(51);
  for (int i = 0; i < 200; ++i) {
    const Manifest manifest = random.manifest();
    const auto again = parse_manifest(to_json(manifest));
    REQUIRE(again);
    CHECK(*again == manifest);
  }
}

TEST_CASE("a manifest that lacks any part is refused, naming it", "[wire]") {
  RandomValues random(52);
  Manifest manifest = random.manifest();
  manifest.rows = {{"embedding/kernel", {16}}};
  const auto whole = nlohmann::json::parse(to_json(manifest));
  for (const auto& [name, value] : whole.items()) {
    nlohmann::json part = whole;
    part.erase(name);
    const auto result = parse_manifest(part.dump());
    if (name == "rows") {  // most models have none, and older manifests do not know them
      REQUIRE(result);
      CHECK(result->rows.empty());
    } else {
      REQUIRE_FALSE(result);
      CHECK(result.error().message == "checkpoint manifest: /" + name + " is required");
    }
    part[name] = true;
    CHECK_FALSE(parse_manifest(part.dump()));
  }
}

TEST_CASE("names of tensors in shards come back as they were", "[wire]") {
  const ShardRange weights{"dense_0/kernel", "", 0, 78'400};
  const ShardRange slot{"dense_0/kernel", "m", 5, 5};
  CHECK(to_tensor_name(weights) == "dense_0/kernel@0:78400");
  CHECK(to_tensor_name(slot) == "dense_0/kernel#m@5:5");
  CHECK(*parse_tensor_name(to_tensor_name(weights)) == weights);
  CHECK(*parse_tensor_name(to_tensor_name(slot)) == slot);
}

TEST_CASE("what is no name of a tensor is refused", "[wire]") {
  for (const char* name : {"", "a", "@0:1", "a@", "a@0", "a@0:", "a@:1", "a@2:1", "a@-1:1",
                           "a@0:1x", "a#@0:1", "#m@0:1", "a@99999999999999999999:1", "a@0:1:2"}) {
    INFO(name);
    CHECK_FALSE(parse_tensor_name(name));
  }
}
