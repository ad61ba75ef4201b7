#include "schemas/wire/checkpoint_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schemas/wire/json_text.h"
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
  manifest.vocabulary = {"step-1/vocabulary.txt", 12, std::string(64, 'a')};
  const auto whole = nlohmann::json::parse(to_json(manifest));
  for (const auto& [name, value] : whole.items()) {
    nlohmann::json part = whole;
    part.erase(name);
    const auto result = parse_manifest(part.dump());
    // Most models have none, and older manifests do not know them.
    if (name == "rows" || name == "vocabulary") {
      REQUIRE(result);
      CHECK(result->rows.empty() == (name == "rows"));
      CHECK(result->vocabulary.has_value() == (name == "rows"));
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

TEST_CASE("a manifest's sizes and counts are bounded", "[wire][mend-A3]") {
  const auto refusal_of = [](auto change) {
    RandomValues random(53);
    Manifest manifest = random.manifest();
    change(manifest);
    const auto result = parse_manifest(to_json(manifest));
    return result ? std::string() : result.error().message;
  };
  using M = Manifest&;
  const std::int64_t two_to_32 = std::int64_t{1} << 32;
  CHECK(refusal_of([](M) {}).empty());
  CHECK(refusal_of([](M m) { m.variables = {{"w", {0, 5}}}; }).empty());
  CHECK(refusal_of([&](M m) {
          m.variables = {{"w", {two_to_32, two_to_32}}};
        }).find("the shape of \"w\" is beyond") != std::string::npos);
  CHECK(refusal_of([&](M m) {
          m.rows = {{"w", {two_to_32, two_to_32, 0}}};
        }).find("/rows") != std::string::npos);
  CHECK(refusal_of([](M m) { m.variables = {{"w", {-1}}}; }).find("/shape/0") != std::string::npos);
  CHECK(refusal_of([](M m) {
          m.variables = {{"w", std::vector<std::int64_t>(17, 1)}};
        }).find("/shape") != std::string::npos);
  CHECK(refusal_of([](M m) { m.worker_steps.assign(100'001, 0); }).find("/worker_steps") !=
        std::string::npos);
  CHECK(refusal_of([](M m) {
          m.shards.assign(1002, {"s", 1, std::string(64, '0')});
        }).find("/shards") != std::string::npos);
  CHECK(refusal_of([](M m) {
          m.shards = {{"../s", 1, std::string(64, '0')}};
        }).find("/shards/0") != std::string::npos);
  CHECK(refusal_of([](M m) {
          m.shards = {{"s", INT64_MAX, std::string(64, '0')}};
        }).find("/shards/0") != std::string::npos);
}

TEST_CASE("a document of more values than memory should be spent on is refused",
          "[wire][mend-A3]") {
  std::string many = "[";
  for (int i = 0; i < 1'000'001; ++i) many += "[],";
  many += "0]";
  const auto result = parse_json(many, "it");
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find("more than 1000000 values") != std::string::npos);
}
