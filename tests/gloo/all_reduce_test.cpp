// What an all-reduce of ours adds up, beside Gloo's sum of the same gradients.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <barrier>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/net/gang.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

using Gradients = std::vector<std::vector<float>>;  // by rank

Gradients random_gradients(std::int64_t ranks, std::int64_t elements, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Gradients gradients(static_cast<std::size_t>(ranks),
                      std::vector<float>(static_cast<std::size_t>(elements)));
  for (auto& gradient : gradients) {
    for (float& value : gradient) value = normal(random);
  }
  return gradients;
}

// Each rank on a thread of its own, as it would be a process.
template <typename OfRank>
void for_each_rank(std::size_t ranks, OfRank of_rank) {
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([rank, &of_rank] { of_rank(rank); });
  }
}

std::vector<float> gloo_sum(Gradients gradients) {
  const TempFolder folder;
  // A rank of Gloo that goes while another is still in run() ends that one by an exception, its own
  // sum done or not: all stay until the last is through.
  std::barrier all_have_run(std::ssize(gradients));
  for_each_rank(gradients.size(), [&](std::size_t rank) {
    gloo::transport::tcp::attr address;
    address.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(address);
    const auto context = std::make_shared<gloo::rendezvous::Context>(
        static_cast<int>(rank), static_cast<int>(gradients.size()));
    gloo::rendezvous::FileStore store(folder.path());
    context->connectFullMesh(store, device);
    gloo::AllreduceHalvingDoubling<float> sum(context, {gradients[rank].data()},
                                              static_cast<int>(gradients[rank].size()));
    sum.run();
    all_have_run.arrive_and_wait();
  });
  return gradients.front();
}

// One step of plain gradient descent, in which every rank owns a share of the parameters; by rank,
// what it has then.
std::vector<std::vector<float>> step_of_ours(const GangSpec& spec, const Gradients& gradients,
                                             Gang::Transport transport) {
  const Gang gang(spec);
  std::vector<Result<std::vector<float>>> ends(gradients.size(), internal("never ran"));
  for_each_rank(gradients.size(), [&](std::size_t rank) {
    ends[rank] = [&]() -> Result<std::vector<float>> {
      TRY_ASSIGN(const auto params,
                 RemoteParams::connect(gang.options(static_cast<std::int64_t>(rank), transport)));
      TRY(params->pull(0));
      const auto gradient = params->gradient_buffer(gradients[rank].size());
      std::ranges::copy(gradients[rank], gradient->data());
      TRY_ASSIGN(const Pulled pulled,
                 params->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient}));
      TRY(params->await_parameters(std::ssize(gradients[rank])));
      return std::vector<float>(pulled.parameters.begin(), pulled.parameters.end());
    }();
  });
  std::vector<std::vector<float>> parameters;
  for (const auto& end : ends) {
    INFO((end.has_value() ? "" : end.error().message));
    REQUIRE(end.has_value());
    parameters.push_back(*end);
  }
  return parameters;
}

// The same step with that sum of the gradients.
std::vector<float> step_with(const GangSpec& spec, const std::vector<float>& sum) {
  AlignedBuffer weights = test::first_parameters(spec.elements);
  apply_update(spec.optimizer, test::learning().learning_rate, 1,
               1.0F / static_cast<float>(spec.workers), sum, weights.span(), weights.span(), {});
  return {weights.span().begin(), weights.span().end()};
}

}  // namespace

TEST_CASE("an all-reduce adds up what Gloo does, by every transport", "[gloo]") {
  for (const std::int64_t ranks : {2, 3, 4}) {
    const GangSpec spec{
        .ps = ranks, .workers = ranks, .max_steps = 1, .optimizer = {.kind = OptimizerKind::sgd}};
    const Gradients gradients =
        random_gradients(ranks, spec.elements, static_cast<std::uint64_t>(ranks));
    const std::vector<float> expected = step_with(spec, gloo_sum(gradients));
    for (const auto transport : test::all_transports) {
      INFO(ranks << " ranks by " << test::name_of(transport));
      for (const auto& parameters : step_of_ours(spec, gradients, transport)) {
        // Two numbers have one sum, whoever adds them; of more the order is ours.
        if (ranks == 2) CHECK(parameters == expected);
        float furthest = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          furthest = std::max(furthest, std::abs(parameters[i] - expected[i]));
        }
        CHECK(furthest < 1e-6F);
      }
    }
  }
}

}  // namespace trainyard::runtime
