// The models of specs that are lists of layers.
#include "tests/schemas/wire/spec_corpus.h"

namespace trainyard {
namespace {

constexpr auto schema_cannot_say = SpecCase::Schema::cannot_say;

std::string with_model(const std::string& model) {
  return R"({"dataset": "synthetic_digits", "model": )" + model + "}";
}

}  // namespace

std::vector<SpecCase> good_layers() {
  return {
      {with_model(R"({"layers": ["flatten", {"repeat": 2, "layers": [{"op": "dense", "units": 20,
                        "activation": "tanh", "init": {"name": "constant", "value": 0.5}}]},
                        {"op": "dense", "units": "classes", "name": "scores"}],
                      "init": "he_uniform", "loss": ["softmax_cross_entropy"],
                      "metrics": ["accuracy"]})"),
       {}},
  };
}

std::vector<SpecCase> bad_layers() {
  return {
      {with_model(R"({"layers": [{"op": "dense", "units": "classes"}]})"), {"/model/loss"}},
      {with_model(R"({"layers": ["flatten", {"op": "dense", "units": 9}],
                      "loss": "softmax_cross_entropy"})"),
       {"/model/loss"},
       schema_cannot_say},
      {with_model(R"({"layers": ["flatten", {"op": "dens", "units": 10}],
                      "loss": "softmax_cross_entropy"})"),
       {"/model/layers/1/op"},
       schema_cannot_say},
      {with_model(R"({"layers": [{"op": "transpose", "axes": [1, 0, 2]}, "flatten",
                                 {"op": "lstm", "units": 10}], "loss": "softmax_cross_entropy"})"),
       {"/model/layers/2"},
       schema_cannot_say},
  };
}

}  // namespace trainyard
