// Names in a spec that are nearly right: the fault has the one that was meant.
#include <algorithm>
#include <catch2/catch.hpp>

#include "schemas/wire/job_spec_json.h"

namespace trainyard {
namespace {

// The message of the only fault at the pointer.
std::string fault_of(const std::string& spec, const std::string& pointer) {
  const auto parsed = parse_job_spec(spec);
  REQUIRE(std::holds_alternative<std::vector<Fault>>(parsed));
  const auto& faults = std::get<std::vector<Fault>>(parsed);
  const auto at = std::ranges::find(faults, pointer, &Fault::pointer);
  INFO(spec);
  REQUIRE(at != faults.end());
  return at->message;
}

std::string spec_with(const std::string& members) {
  return R"({"model": "mlp", "dataset": "synthetic_digits", )" + members + "}";
}

}  // namespace

TEST_CASE("a name of a spec that is nearly right gets the right one", "[near_name]") {
  struct Wrong {
    std::string spec;
    std::string pointer;
    std::string meant;
  };
  const std::vector<Wrong> cases{
      {R"({"model": "mpl", "dataset": "synthetic_digits"})", "/model", "mlp"},
      {R"({"model": "MLP", "dataset": "synthetic_digits"})", "/model", "mlp"},
      {R"({"model": {"name": "resnet-50"}, "dataset": "cifar10"})", "/model/name", "resnet50"},
      {R"({"model": "mlp", "dataset": "MNIST"})", "/dataset/format", "mnist"},
      {R"({"model": {"name": "resnet1"}, "dataset": "cifar10"})", "/model/name", "resnet18"},
      {R"({"model": {"name": "mlp", "hiden": [3]}, "dataset": "synthetic_digits"})", "/model/hiden",
       "hidden"},
      {R"({"model": {"name": "mlp", "activation": "sigmiod"}, "dataset": "synthetic_digits"})",
       "/model/activation", "sigmoid"},
      {R"({"model": {"layers": ["dnese"], "loss": "huber"}, "dataset": "synthetic_digits"})",
       "/model/layers/0", "dense"},
      {R"({"model": "mlp", "dataset": "synthetic_digit"})", "/dataset/format", "synthetic_digits"},
      {R"({"model": "mlp", "dataset": {"name": "x", "format": "libsmv", "path": "/x"}})",
       "/dataset/format", "libsvm"},
      {spec_with(R"("trainig": {})"), "/trainig", "training"},
      {spec_with(R"("training": {"optimizer": "adma"})"), "/training/optimizer", "adam"},
      {spec_with(R"("training": {"batchsize": 3})"), "/training/batchsize", "batch_size"},
      {spec_with(R"("roles": {"wroker": 2})"), "/roles/wroker", "worker"},
      {spec_with(R"("checkpoint": {"metric": "test_acuracy"})"), "/checkpoint/metric",
       "test_accuracy"},
      {spec_with(R"("mode": "synch")"), "/mode", "sync"}};
  for (const Wrong& wrong : cases) {
    INFO(wrong.pointer);
    CHECK_THAT(fault_of(wrong.spec, wrong.pointer),
               Catch::Matchers::EndsWith("; did you mean \"" + wrong.meant + "\"?"));
  }
}

TEST_CASE("a data set whose name alone is given and not known is told so", "[near_name]") {
  CHECK_THAT(fault_of(R"({"model": "mlp", "dataset": "birds"})", "/dataset/format"),
             Catch::Matchers::StartsWith(
                 "is required, as \"birds\" is no data set that is known by its name: one of "));
  CHECK_THAT(fault_of(R"({"model": "mlp", "dataset": {"name": 7}})", "/dataset/format"),
             Catch::Matchers::StartsWith("is required: one of "));
}

TEST_CASE("a name of a spec that is near to nothing keeps the words that it had", "[near_name]") {
  CHECK_THAT(fault_of(spec_with(R"("training": {"optimizer": "lion"})"), "/training/optimizer"),
             Catch::Matchers::EndsWith(", got \"lion\""));
  CHECK_THAT(fault_of(R"({"model": "transformer9000", "dataset": "synthetic_digits"})", "/model"),
             !Catch::Matchers::Contains("did you mean"));
  CHECK_THAT(fault_of(spec_with(R"("whatever": 1)"), "/whatever"),
             !Catch::Matchers::Contains("did you mean"));
  CHECK_THAT(fault_of(spec_with(R"("mode": 3)"), "/mode"),
             !Catch::Matchers::Contains("did you mean"));
}

}  // namespace trainyard
