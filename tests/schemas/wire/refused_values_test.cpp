// A value that is refused is used for nothing: each number of a spec is replaced by what no number
// of a spec may be, alone and together with another one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schemas/wire/job_spec_json.h"
#include "tests/schemas/wire/hostile_specs.h"

using namespace trainyard;

namespace {

bool is_about(const Fault& fault, const std::string& pointer) {
  return fault.pointer.starts_with(pointer) || pointer.starts_with(fault.pointer);
}

// A spec, or faults with both places among them where both values are refused anywhere.
void check_verdict(const HostileSpec& spec) {
  const ParsedJobSpec result = parse_job_spec(spec.text);
  if (const auto* good = std::get_if<JobSpec>(&result)) {
    INFO(spec.text);
    CHECK_FALSE(spec.is_refused);
    CHECK(std::holds_alternative<JobSpec>(parse_job_spec(to_json(*good))));
    return;
  }
  const auto* faults = std::get_if<std::vector<Fault>>(&result);
  if (faults == nullptr || faults->empty()) FAIL(spec.text);
  if (!spec.is_refused) return;
  for (const std::string& pointer : spec.changed) {
    if (std::ranges::any_of(*faults, [&](const Fault& one) { return is_about(one, pointer); })) {
      return;
    }
  }
  FAIL("no fault is about what was changed: " << spec.text);
}

}  // namespace

TEST_CASE("each number of a spec may be anything, and the answer is a verdict", "[wire][mend-A1]") {
  const std::vector<HostileSpec> specs = specs_with_one_changed();
  CHECK(specs.size() > 800);
  for (const HostileSpec& spec : specs) check_verdict(spec);
}

TEST_CASE("any two numbers of a spec may be anything, and the answer is a verdict",
          "[wire][mend-A1]") {
  const std::vector<HostileSpec> specs = specs_with_two_changed();
  CHECK(specs.size() > 10'000);
  for (const HostileSpec& spec : specs) check_verdict(spec);
}

TEST_CASE("a refused size of micro-batches is one fault, by which nothing is divided",
          "[wire][mend-A1]") {
  for (const std::string value : {"0", "-5", "\"x\"", "null", "1.5", "[]", "{}"}) {
    const std::string text =
        R"({"model": "mlp", "dataset": "synthetic_digits",
            "training": {"global_batch_size": 100, "micro_batch_size": )" +
        value + "}}";
    const ParsedJobSpec result = parse_job_spec(text);
    const auto* faults = std::get_if<std::vector<Fault>>(&result);
    REQUIRE(faults != nullptr);
    REQUIRE(faults->size() == 1);
    CHECK(faults->front().pointer == "/training/micro_batch_size");
  }
}

TEST_CASE("async with the sizes of a sync step is told all of it at once", "[wire][mend-B6]") {
  const ParsedJobSpec result = parse_job_spec(
      R"({"model": "mlp", "dataset": "synthetic_digits", "mode": "async",
          "training": {"global_batch_size": 100, "max_steps": 0}})");
  const auto* faults = std::get_if<std::vector<Fault>>(&result);
  REQUIRE(faults != nullptr);
  REQUIRE(faults->size() == 2);
  CHECK(faults->front().pointer == "/training/max_steps");
  CHECK(faults->back() ==
        Fault{"/training/global_batch_size", "needs mode sync; async has batch_size, per worker"});
}

TEST_CASE("under a parameter server a ps that is not named is one", "[wire][mend-B12]") {
  const ParsedJobSpec result =
      parse_job_spec(R"({"model": "mlp", "dataset": "synthetic_digits", "roles": {"worker": 2}})");
  REQUIRE(std::holds_alternative<JobSpec>(result));
  CHECK(std::get<JobSpec>(result).ps == RoleSpec{1, {1, 1024, 0}, PlacementPolicy::spread});
}
