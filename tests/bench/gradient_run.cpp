#include "tests/bench/gradient_run.h"

#include <utility>

#include "schemas/base/check.h"
#include "tests/bench/bench.h"
#include "tests/bench/peer_networks.h"

namespace trainyard::bench {
namespace {

constexpr double seconds_per_run = 1.5;

runtime::Model model_for(const NetworkCase& of, const GradientRun::Place& place) {
  auto model = runtime::Model::build(peer_network(of.peer.network), of.data,
                                     {.batch_size = of.peer.batch_size,
                                      .seed = 1,
                                      .team = {.threads = place.threads},
                                      .device = place.gpu});
  ENSURE(model.has_value());
  return std::move(*model);
}

}  // namespace

GradientRun::GradientRun(const NetworkCase& of, const Place& place)
    : model_(model_for(of, place)),
      batch_(drawn_batch(of)),
      parameters_(static_cast<std::size_t>(model_.arena_elements())),
      gradients_(static_cast<std::size_t>(model_.arena_elements())),
      gpu_(place.gpu) {
  model_.initialize(1, parameters_.span());
  resident_ = model_.reside(parameters_.span(), {});
  // A GPU records the second batch of a kind: those that are measured are replayed.
  for (int i = 0; i < (gpu_ == nullptr ? 1 : 3); ++i) step();
}

double GradientRun::steps_per_cpu_second() { return steps_per_second(cpu_seconds_self); }
double GradientRun::steps_per_clock_second() { return steps_per_second(seconds_now); }

double GradientRun::steps_per_second(double (*seconds)()) {
  wait();
  const double start = seconds();
  int steps = 0;
  while (steps < 2 || seconds() - start < seconds_per_run) {
    step();
    ++steps;
  }
  wait();
  return steps / (seconds() - start);
}

double GradientRun::flops_per_step() {
  model_.take_step_flops();
  step();
  return model_.take_step_flops() * static_cast<double>(batch_.examples);
}

std::int64_t GradientRun::parameters() const { return trained_parameters(model_); }

void GradientRun::step() { model_.gradient(parameters_.span(), batch_, gradients_.span()); }

// Gradients that stay on a GPU are perhaps not computed yet when a step returns.
void GradientRun::wait() {
  if (gpu_ == nullptr) return;
  gpu_->wait(gpu_->mark());
  runtime::require_sound(*gpu_);
}

}  // namespace trainyard::bench
