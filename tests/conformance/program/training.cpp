#include "tests/conformance/program/training.h"

#include <chrono>
#include <cstdio>
#include <cstring>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"

namespace trainyard::runtime {
namespace {

// Of gradients of one batch: two at least, and as many as half a second has room for, so that a GPU
// has left its rest.
double steps_per_second(Model& model, std::span<const float> parameters, const Batch& batch,
                        std::span<float> gradients) {
  constexpr double seconds = 0.5;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> taken{};
  int steps = 0;
  while (steps < 2 || taken.count() < seconds) {
    model.gradient(parameters, batch, gradients);
    ++steps;
    taken = std::chrono::steady_clock::now() - begin;
  }
  return steps / taken.count();
}

}  // namespace

bool are_equal(const Training& a, const Training& b) {
  return !a.parameters.empty() && a.parameters.size() == b.parameters.size() &&
         std::memcmp(a.parameters.data(), b.parameters.data(),
                     a.parameters.size() * sizeof(float)) == 0;
}

Training train(const Trained& network, Device* device, int steps) {
  const TeamSetting team{.threads = device == nullptr ? 1 : 4};  // which copy
  auto model =
      Model::build(network.written, network.data,
                   {.batch_size = network.examples, .seed = 3, .team = team, .device = device});
  if (!model) {
    std::printf("%s: %s\n", network.name.c_str(), model.error().message.c_str());
    return {};
  }
  const auto count = static_cast<std::size_t>(model->arena_elements());
  AlignedBuffer parameters(count);
  AlignedBuffer gradients(count);
  model->initialize(1, parameters.span());
  const auto rate =
      static_cast<float>(network.learning_rate / static_cast<double>(network.examples));
  Training result;
  result.start.assign(parameters.data(), parameters.data() + count);
  for (int step = 0; step < steps; ++step) {
    const Batch batch = batch_of(network, step);
    const BatchResult sums = model->gradient(parameters.span(), batch, gradients.span());
    result.loss = sums.loss_sum / static_cast<double>(sums.denominator);
    if (step == 0) result.first_loss = result.loss;
    for (const Variable& variable : model->variables()) {
      for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
        const auto at = static_cast<std::size_t>(i);
        parameters.data()[at] -= rate * gradients.data()[at];
      }
    }
  }
  result.parameters.assign(parameters.data(), parameters.data() + count);
  result.steps_per_second =
      steps_per_second(*model, parameters.span(), batch_of(network, 0), gradients.span());
  return result;
}

}  // namespace trainyard::runtime
