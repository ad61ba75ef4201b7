// What a model needs of a device's memory is found when it is built, not in the middle of a job.
#include <catch2/catch.hpp>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/support/models.h"

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

constexpr std::int64_t examples = 16;
constexpr std::int64_t time_steps = 32;

struct Kind {
  std::string name;
  model::Written written;
  DataShape data;
};

Kind dense() {
  return {"mlp", models::mlp({100}), {.example = {784}, .features = 784, .classes = 10}};
}

Kind tokens() {
  return {"gpt",
          models::zoo(
              "gpt",
              {{"depth", std::int64_t{1}}, {"width", std::int64_t{8}}, {"heads", std::int64_t{2}}}),
          {.example = {time_steps},
           .features = time_steps,
           .classes = 0,
           .layout = FeatureLayout::ids,
           .labels = LabelLayout::tokens,
           .vocabulary = 20}};
}

Batch batch_of(const Kind& kind) {
  Batch batch{.examples = examples, .features = {}, .labels = {}, .targets = {}};
  const auto numbers = static_cast<std::size_t>(examples * kind.data.features);
  if (kind.data.layout == FeatureLayout::ids) {
    batch.ids.assign(numbers, 3);
    batch.token_labels.assign(numbers, 4);
    batch.lengths.assign(examples, static_cast<std::int32_t>(time_steps));
  } else {
    batch.features.assign(numbers, 0.5F);
    batch.labels.assign(examples, 1);
  }
  return batch;
}

// Whether the model can be built in so much memory; then it has three steps.
bool trains_in(const Kind& kind, std::size_t bytes) {
  HostDevice device({.bytes = bytes});
  std::optional<Model> model;
  try {
    auto built = Model::build(kind.written, kind.data,
                              {.batch_size = examples, .seed = 1, .device = &device});
    REQUIRE(built);
    model = std::move(*built);
  } catch (const DeviceFailed& failure) {
    CHECK_THAT(failure.what(), Catch::Contains(" MiB free, "));
    return false;
  }
  const auto count = static_cast<std::size_t>(model->arena_elements());
  AlignedBuffer parameters(count);
  AlignedBuffer gradients(count);
  model->initialize(1, parameters.span());
  const Batch batch = batch_of(kind);
  for (int step = 0; step < 3; ++step) {
    model->gradient(parameters.span(), batch, gradients.span());
  }
  return true;
}

}  // namespace

TEST_CASE("a model that was built on a device has memory there for its steps", "[model][device]") {
  for (const Kind& kind : {dense(), tokens()}) {
    INFO(kind.name);
    std::size_t bytes = 16 << 10;
    int refused = 0;
    for (; !trains_in(kind, bytes); bytes += 16 << 10) ++refused;
    CHECK(refused > 0);
    CHECK(trains_in(kind, bytes + (16 << 10)));
  }
}
