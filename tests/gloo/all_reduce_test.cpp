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

#include "tests/bench/chunk_gang.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

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

// One step of plain gradient descent from zeros, in which every rank owns a share of the
// parameters; by rank, what it has then.
std::vector<std::vector<float>> step_of_ours(const Gradients& gradients, Transport transport) {
  const auto ranks = std::ssize(gradients);
  const bench::ChunkGang gang{.elements = std::ssize(gradients.front()),
                              .ranks = ranks,
                              .servers = ranks,
                              .learning_rate = 1};
  std::vector<std::unique_ptr<ChunkServer>> shares;
  std::vector<std::string> addresses;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    shares.push_back(bench::serve_share(gang, rank));
    addresses.push_back("127.0.0.1:" + std::to_string(shares.back()->port()));
  }
  std::vector<std::vector<float>> ends(gradients.size());
  for_each_rank(gradients.size(), [&](std::size_t rank) {
    bench::ChunkWorker worker(gang, static_cast<std::int64_t>(rank), addresses, transport);
    std::ranges::copy(gradients[rank], worker.gradient().begin());
    worker.exchange();
    ends[rank].assign(worker.parameters().begin(), worker.parameters().end());
  });
  return ends;
}

}  // namespace

TEST_CASE("an all-reduce adds up what Gloo does, by every transport", "[gloo]") {
  for (const std::int64_t ranks : {2, 3, 4}) {
    const Gradients gradients = random_gradients(ranks, 10'007, static_cast<std::uint64_t>(ranks));
    const std::vector<float> sum = gloo_sum(gradients);
    for (const auto transport :
         {Transport::tcp, Transport::unix_socket, Transport::shared_memory}) {
      INFO(ranks << " ranks by " << find_name(transport_names, transport));
      for (const auto& parameters : step_of_ours(gradients, transport)) {
        float furthest = 0;
        bool is_same = true;
        for (std::size_t i = 0; i < sum.size(); ++i) {
          is_same = is_same && parameters[i] == -sum[i];
          furthest = std::max(furthest, std::abs(parameters[i] + sum[i]));
        }
        // Two numbers have one sum, whoever adds them; of more the order is ours.
        if (ranks == 2) CHECK(is_same);
        CHECK(furthest < 1e-5F);
      }
    }
  }
}

}  // namespace trainyard::runtime
