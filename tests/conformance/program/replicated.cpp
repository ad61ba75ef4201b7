#include "tests/conformance/program/replicated.h"

#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/replicas.h"
#include "runtime/model/resident_parameters.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t leaves = 6;  // of a step: a replica of four has one or two of them

struct Gang {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Model> models;  // each on its own

  [[nodiscard]] std::vector<Model*> pointers() {
    std::vector<Model*> all;
    for (Model& model : models) all.push_back(&model);
    return all;
  }
};

// With fewer models where one cannot be built, which is said.
Gang gang_of(const Trained& network, std::size_t count, const NewDevice& new_device) {
  Gang gang;
  while (gang.models.size() < count) {
    gang.devices.push_back(new_device());
    if (gang.devices.back() == nullptr) break;
    auto model = Model::build(
        network.written, network.data,
        {.batch_size = network.examples, .seed = 3, .device = gang.devices.back().get()});
    if (!model) {
      std::printf("%s: %s\n", network.name.c_str(), model.error().message.c_str());
      break;
    }
    gang.models.push_back(*std::move(model));
  }
  return gang;
}

void descend(const Model& model, float rate, std::span<const float> gradient,
             std::span<float> parameters) {
  for (const Variable& variable : model.variables()) {
    for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
      const auto at = static_cast<std::size_t>(i);
      parameters[at] -= rate * gradient[at];
    }
  }
}

bool add_up(Replicas& replicas, const Trained& network, std::size_t count, int step,
            std::span<const float> parameters, std::span<float> sums) {
  std::vector<Batch> batches(count);
  std::vector<std::int64_t> next(count);
  for (std::size_t i = 0; i < count; ++i) next[i] = replicas.leaves_of_replica(i).begin;
  const auto done = replicas.add_up(
      {.parameters = parameters,
       .sums = sums,
       .next_batch =
           [&](std::size_t replica) {
             const auto leaf = step * leaves + next[replica]++;
             batches[replica] = batch_of(network, static_cast<int>(leaf));
             return &batches[replica];
           },
       .await = [](std::int64_t) { return ok(); },
       .on_results = [](std::span<const BatchResult>) -> ::trainyard::Result<Replicas::Step::Then> {
         return Replicas::Step::Then::streams;
       },
       .settle = [](std::int64_t) {}});
  return done.has_value() && *done;
}

// Parameters after plain descent; none where it cannot be computed.
std::vector<float> train_together(const Trained& network, std::size_t count,
                                  const NewDevice& new_device, int steps) {
  Gang gang = gang_of(network, count, new_device);
  if (gang.models.size() < count) return {};
  Replicas replicas({.models = gang.pointers(), .nodes = {{0, leaves}}});
  replicas.start();

  const auto elements = static_cast<std::size_t>(gang.models.front().arena_elements());
  AlignedBuffer parameters(elements);
  AlignedBuffer sums(elements);
  gang.models.front().initialize(1, parameters.span());
  const float rate = 0.01F / static_cast<float>(leaves * network.examples);
  for (int step = 0; step < steps; ++step) {
    if (!add_up(replicas, network, count, step, parameters.span(), sums.span())) return {};
    descend(gang.models.front(), rate, sums.span(), parameters.span());
  }
  return {parameters.data(), parameters.data() + elements};
}

// The same where each replica's device has the parameters, and changes them by adam.
std::vector<float> train_there(const Trained& network, std::size_t count,
                               const NewDevice& new_device, int steps) {
  Gang gang = gang_of(network, count, new_device);
  if (gang.models.size() < count) return {};
  const Model& first = gang.models.front();
  const auto elements = static_cast<std::size_t>(first.arena_elements());
  AlignedBuffer parameters(elements);
  first.initialize(1, parameters.span());
  const OptimizerConfig adam{.kind = OptimizerKind::adam};
  const ArenaUpdate rules(first.variables(), DecayedVariables::matrices);
  std::vector<AlignedBuffer> slots;
  for (std::size_t i = 0; i < slot_names(adam.kind).size(); ++i) slots.emplace_back(elements);
  const auto resident =
      ResidentParameters::open(gang.pointers(), {0, leaves}, parameters.span(), slots);
  if (resident == nullptr) return {};
  Replicas replicas(
      {.models = gang.pointers(), .nodes = {{0, leaves}}, .resident = resident.get()});
  replicas.start();
  const float scale = 1.0F / static_cast<float>(leaves * network.examples);
  for (int step = 0; step < steps; ++step) {
    if (!add_up(replicas, network, count, step, parameters.span(), {})) return {};
    resident->update(rules, adam,
                     {.learning_rate = 0.001,
                      .number = step + 1,
                      .gradient_scale = scale,
                      .average_scale = scale});
  }
  resident->fetch_weights(parameters.span());
  return {parameters.data(), parameters.data() + elements};
}

using Train = std::vector<float> (*)(const Trained& network, std::size_t count,
                                     const NewDevice& new_device, int steps);

// How many of two and four replicas do not train what one does.
int compare_counts(const Trained& network, const NewDevice& new_device, int steps, Train train) {
  int different = 0;
  const std::vector<float> one = train(network, 1, new_device, steps);
  for (const std::size_t count : {2, 4}) {
    const std::vector<float> more = train(network, count, new_device, steps);
    const bool is_same = !one.empty() && more.size() == one.size() &&
                         std::memcmp(one.data(), more.data(), one.size() * sizeof(float)) == 0;
    different += is_same ? 0 : 1;
    std::printf(" %6s", is_same ? "equal" : "DIFFER");
  }
  return different;
}

}  // namespace

int compare_replicas(std::span<const Trained> networks, const NewDevice& new_device, int steps) {
  std::printf(
      "replicas on one device, %d steps of %d leaves; then with the parameters there\n"
      "%-10s %6s %6s %6s %6s\n",
      steps, static_cast<int>(leaves), "model", "2", "4", "2", "4");
  int different = 0;
  for (const Trained& network : networks) {
    std::printf("%-10s", network.name.c_str());
    different += compare_counts(network, new_device, steps, train_together);
    different += compare_counts(network, new_device, steps, train_there);
    std::printf("\n");
    std::fflush(stdout);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace trainyard::runtime
