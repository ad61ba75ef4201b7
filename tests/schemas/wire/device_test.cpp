// Where a job says that it computes, and how exactly.
#include <catch2/catch.hpp>

#include "schemas/wire/job_spec_json.h"

namespace trainyard {

TEST_CASE("a device that is the usual one is the same spec as none", "[wire]") {
  const auto text_of = [](const std::string& training, const std::string& worker) {
    const auto parsed =
        parse_job_spec(R"({"model": "mlp", "dataset": "synthetic_digits", "training": )" +
                       training + R"(, "roles": {"ps": 1, "worker": )" + worker + "}}");
    const auto* const spec = std::get_if<JobSpec>(&parsed);
    REQUIRE(spec != nullptr);
    return to_json(*spec);
  };
  const std::string on_gpus = R"({"replicas": 1, "resources": {"gpus": 1}})";
  CHECK(text_of(R"({"device": "cpu"})", "2") == text_of("{}", "2"));
  CHECK(text_of(R"({"device": "gpu"})", on_gpus) == text_of("{}", on_gpus));
  CHECK(text_of(R"({"device": "cpu"})", on_gpus) != text_of("{}", on_gpus));
  CHECK(text_of(R"({"device": "auto"})", "2") != text_of("{}", "2"));
}

TEST_CASE("a precision of GPUs says what lacks", "[wire]") {
  const auto fault_of = [](const std::string& training, const std::string& worker) {
    const auto parsed =
        parse_job_spec(R"({"model": "mlp", "dataset": "synthetic_digits", "training": )" +
                       training + R"(, "roles": {"ps": 1, "worker": )" + worker + "}}");
    const auto* const faults = std::get_if<std::vector<Fault>>(&parsed);
    REQUIRE(faults != nullptr);
    REQUIRE(faults->size() == 1);
    return faults->front().message;
  };
  CHECK(fault_of(R"({"precision": "bfloat16"})", "2") ==
        "bfloat16 needs GPUs, as a CPU computes in float32 only: set roles.worker.resources.gpus");
  CHECK(fault_of(R"({"precision": "tf32", "device": "cpu"})", R"(0, "chief": 1)") ==
        "tf32 needs GPUs, as a CPU computes in float32 only: set roles.chief.resources.gpus, "
        "training.device must be gpu, which it is by default, got cpu");
  CHECK(fault_of(R"({"precision": "tf32", "device": "auto"})",
                 R"({"replicas": 2, "resources": {"gpus": 1}})") ==
        "tf32 needs GPUs, as a CPU computes in float32 only: training.device must be gpu, which it "
        "is "
        "by default, got auto");
}

}  // namespace trainyard
