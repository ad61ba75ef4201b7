#include "tests/bench/peer_networks.h"

#include <map>
#include <vector>

#include "schemas/base/check.h"
#include "schemas/wire/model_json.h"

namespace trainyard::bench {

model::Written peer_network(const std::string& name) {
  static const std::map<std::string, const char*> networks{
      {"lenet5", R"("lenet5")"},
      {"cifar_cnn", R"({"name": "cifar_cnn", "dropout": 0})"},
      {"resnet18", R"({"name": "resnet18", "stem": "cifar"})"},
      {"resnet18_224", R"("resnet18")"},
      {"lstm", R"({
          "layers": [{"op": "reshape", "shape": [28, 28]}, {"op": "lstm", "units": 128},
                     {"op": "dense", "units": "classes"}],
          "loss": "softmax_cross_entropy"})"},
      {"crnn", R"("crnn")"},
      {"gpt", R"({"name": "gpt", "dropout": 0})"},
      {"gpt2_small", R"({"name": "gpt2_small", "dropout": 0, "recompute": false})"}};
  std::vector<Fault> faults;
  const auto written =
      model::parse_model(nlohmann::json::parse(networks.at(name)), "/model", faults);
  ENSURE(faults.empty() && written.has_value());
  return *written;
}

std::int64_t trained_parameters(const runtime::Model& model) {
  std::int64_t sum = 0;
  for (const runtime::Variable& variable : model.variables()) {
    if (variable.update == runtime::UpdateRule::optimizer) sum += variable.elements;
  }
  return sum;
}

}  // namespace trainyard::bench
