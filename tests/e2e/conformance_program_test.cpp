// trainyard-conformance, tests/gpu/run, which calls it, and trainyard-bench on a GPU, as their
// users call them.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/gpu_host.h"
#include "tests/e2e/programs.h"
#include "tests/environment.h"
#include "tests/support/program_path.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

// What it says where its exit status is 2.
std::string refusal_of(const std::vector<std::string>& arguments,
                       const std::string& name = "trainyard-conformance") {
  Program program(name, arguments);
  const auto status = program.wait(in_seconds(60));
  REQUIRE(status);
  INFO(program.output());
  REQUIRE(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 2);
  return program.output();
}

}  // namespace

TEST_CASE("the conformance program says which argument it does not understand", "[e2e][gpu]") {
  const std::vector<std::vector<std::string>> bad{{"--rounds", "x"},
                                                  {"--rounds", "0"},
                                                  {"--rounds", "99999999999"},
                                                  {"--seed", "-1"},
                                                  {"--seed", "1x"},
                                                  {"--precision", "half"},
                                                  {"--precision"},
                                                  {"--plugin"},
                                                  {"--help"},
                                                  {""},
                                                  {"products"},
                                                  {"models", "--network", "lenet"},
                                                  {"dropout", "loss"}};
  for (const auto& arguments : bad) {
    CHECK_THAT(refusal_of(arguments), Catch::Contains("is not understood\nusage: "));
  }
}

TEST_CASE("the conformance program compares in the precisions of tensor cores", "[e2e][gpu]") {
  const std::string precision = GENERATE("tf32", "bfloat16");
  Program program("trainyard-conformance", {"product", "--precision", precision, "--rounds", "2"});
  const auto status = program.wait(in_seconds(60));
  REQUIRE(status);
  INFO(program.output());
  CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 0));
  CHECK_THAT(program.output(), Catch::Contains("product"));
}

TEST_CASE("the conformance program trains a whole network in each precision", "[e2e][gpu]") {
  const std::string precision = GENERATE("float32", "tf32", "bfloat16");
  if (is_sanitized && precision != "bfloat16") return;  // it trains in float32, too
  Program program("trainyard-conformance",
                  {"models", "--network", "lenet5", "--precision", precision, "--rounds", "2"});
  const auto status = program.wait(in_seconds(300));
  REQUIRE(status);
  INFO(program.output());
  CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 0));
  CHECK_THAT(program.output(), Catch::Contains("lenet5") && !Catch::Contains("DIFFER"));
}

TEST_CASE("the conformance program says what its device lacks", "[e2e][gpu]") {
  CHECK_THAT(refusal_of({"speed"}), Catch::Contains("host has 255 MiB free, 257 more are needed"));
}

TEST_CASE("the bench measures a GPU's copies, and without a GPU says why not", "[e2e][gpu]") {
  if (!is_there(program_path("trainyard-bench"))) {
    WARN("not asked: this build has no trainyard-bench");
    return;
  }
  const GpuHost host;
  host.show("gpu GPU-a 64 9 0 Double\n");
  const std::vector<std::string> arguments{"compute", "--device", "gpu", "--case", "copy"};
  const std::string bench = host.with_gpus("trainyard-bench");
  Program program(bench, arguments);
  const auto status = program.wait(in_seconds(60));
  REQUIRE(status);
  INFO(program.output());
  CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 0));
  for (const char* const copy : {"in its memory", "from the host", "to the host"}) {
    CHECK_THAT(program.output(), Catch::Contains(std::string("gpu, a copy ") + copy));
  }
  host.remove_plugin();
  CHECK_THAT(refusal_of(arguments, bench), Catch::Contains("was built without CUDA"));
}

TEST_CASE("the bench trains a network on a GPU in the precision that is asked for", "[e2e][gpu]") {
  if (!is_there(program_path("trainyard-bench"))) {
    WARN("not asked: this build has no trainyard-bench");
    return;
  }
  const GpuHost host;
  host.show("gpu GPU-a 4000 9 0 Double\n");
  Program program(host.with_gpus("trainyard-bench"),
                  {"compute", "--device", "gpu", "--case", "gpu in tf32 lenet5"});
  const auto status = program.wait(in_seconds(120));
  REQUIRE(status);
  INFO(program.output());
  CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 0));
  CHECK_THAT(program.output(), Catch::Contains("gpu in tf32 lenet5, batch 512") &&
                                   Catch::Contains("gpu in tf32 lenet5, its products") &&
                                   !Catch::Contains("bfloat16"));
}

TEST_CASE("the suite for a GPU says what it cannot do before it begins", "[e2e][gpu]") {
  const std::string suite = std::filesystem::absolute("tests/gpu/run");
  CHECK_THAT(refusal_of({"-", "products"}, suite), Catch::Contains("\"products\" is none of: ops"));
  CHECK_THAT(refusal_of({"/no/such/folder/found.json", "ops"}, suite),
             Catch::Contains("/no/such/folder/found.json cannot be written"));
}
