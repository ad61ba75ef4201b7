// Backup workers over real transports: late gradients are dropped and told so, nobody waits for who
// is gone, and all ps have the same.
#include <array>
#include <catch2/catch.hpp>
#include <future>

#include "tests/runtime/net/stock_stream.h"

namespace trainyard::runtime {
namespace {

using test::elements, test::Gang, test::GangSpec, test::StockStream;

GangSpec gang_of(std::int64_t workers, std::int64_t aggregate, std::int64_t ps = 1) {
  return {.ps = ps,
          .workers = workers,
          .max_steps = 20,
          .elements = ps * elements,
          .optimizer = {},
          .aggregate = aggregate};
}

struct Worker {
  Worker(const Gang& gang, std::int64_t of_rank, Gang::Transport transport)
      : rank(of_rank),
        gradient(std::make_shared<AlignedBuffer>(static_cast<std::size_t>(gang.spec().elements))) {
    auto connected = RemoteParams::connect(gang.options(of_rank, transport));
    REQUIRE(connected.has_value());
    params = *std::move(connected);
    const auto first = params->pull(0);
    REQUIRE(first.has_value());
    version = first->version;
  }

  Result<Pulled> push() {
    std::ranges::fill(gradient->span(), static_cast<float>(rank + 1));
    TRY_ASSIGN(const Pulled pulled, params->push_pull({.step = version + 1,
                                                       .sums = {.examples = 1, .loss_sum = 1},
                                                       .gradient = gradient}));
    version = pulled.version;
    return pulled;
  }

  std::int64_t rank;
  std::shared_ptr<AlignedBuffer> gradient;
  std::unique_ptr<RemoteParams> params;
  std::int64_t version = 0;
};

constexpr std::array transports{Gang::Transport::shared_memory, Gang::Transport::unix_socket,
                                Gang::Transport::tcp, Gang::Transport::grpc};

std::vector<float> parameters_of(const Pulled& pulled) {
  return {pulled.parameters.begin(), pulled.parameters.end()};
}

}  // namespace

TEST_CASE("a step is of the first contributions, and who comes later is told", "[backup]") {
  for (const std::int64_t ps : {1, 2, 3}) {
    for (const auto transport : transports) {
      INFO(ps << " ps, transport " << static_cast<int>(transport));
      const Gang gang(gang_of(3, 2, ps));
      Worker slow(gang, 0, transport);
      Worker one(gang, 1, transport);
      Worker other(gang, 2, transport);
      Result<Pulled> answer = internal("never came");
      for (int step = 1; step <= 3; ++step) {
        {
          const std::jthread waits([&] { answer = one.push(); });
          const auto pulled = other.push();
          REQUIRE(pulled.has_value());
          CHECK(pulled->version == step);
          CHECK(pulled->contributed);
          CHECK(other.params->dropped() == std::vector<std::int64_t>(3));
          CHECK(pulled->sums.examples == 2);
          // sgd: the mean of the gradients 2 and 3.
          CHECK(pulled->parameters[0] == Approx(1 - 0.01 * 2.5 * step));
        }
        REQUIRE(answer.has_value());
        CHECK(answer->contributed);
      }

      const auto late = slow.push();  // of step 1
      REQUIRE(late.has_value());
      CHECK(late->version == 3);
      CHECK(late->oldest == 3);
      CHECK_FALSE(late->contributed);
      CHECK(late->sums == BatchSums{.examples = 6, .loss_sum = 6});
      CHECK(parameters_of(*late) == parameters_of(*answer));

      const std::jthread waits([&] { answer = slow.push(); });
      const auto pulled = other.push();
      REQUIRE(pulled.has_value());
      CHECK(pulled->version == 4);
      CHECK(other.params->dropped() == std::vector<std::int64_t>{1, 0, 0});
    }
  }
}

TEST_CASE("steps shrink with the workers that are there", "[backup]") {
  for (const std::int64_t ps : {1, 2}) {
    for (const auto transport : transports) {
      INFO(ps << " ps, transport " << static_cast<int>(transport));
      const Gang gang(gang_of(3, 2, ps));
      Worker stays(gang, 0, transport);
      auto leaves = std::make_unique<Worker>(gang, 1, transport);
      StockStream killed(gang.addresses().front());
      REQUIRE(killed.exchange(killed.pull(2)).has_value());
      auto first = std::async(std::launch::async, [&] { return stays.push(); });
      leaves.reset();  // in good order, as one that is told to stop
      killed.context.TryCancel();

      const auto alone = first.get();
      REQUIRE(alone.has_value());
      CHECK(alone->version == 1);
      CHECK(alone->sums.examples == 1);
      const auto next = stays.push();
      REQUIRE(next.has_value());
      CHECK(next->version == 2);

      Worker back(gang, 1, transport);  // from the next step on it is waited for
      CHECK(back.version == 2);
      auto waits = std::async(std::launch::async, [&] { return stays.push(); });
      const auto both = back.push();
      REQUIRE(both.has_value());
      CHECK(both->version == 3);
      CHECK(both->sums.examples == 2);
      CHECK(waits.get().has_value());
    }
  }
}

TEST_CASE("a push counts once its worker says that every ps holds it", "[backup]") {
  const Gang gang(gang_of(3, 2, 2));
  const auto sized = [&gang](proto::PushFrame push, std::size_t ps) {
    const auto share = plan_shares(gang.spec().elements, 2)[ps].elements();
    push.set_data(std::string(static_cast<std::size_t>(share) * sizeof(float), '\0'));
    return push;
  };
  {
    StockStream first(gang.addresses()[0]);
    StockStream second(gang.addresses()[1]);
    for (StockStream* const stream : {&first, &second}) {
      const auto held = stream->exchange(sized(stream->push(2, 1), stream == &first ? 0 : 1));
      REQUIRE(held.has_value());
      CHECK(held->held());
      CHECK(held->data().empty());
    }
    proto::PushFrame ready = first.pull(2);
    ready.set_step(1);
    ready.set_ready(true);
    first.stream->Write(ready);
    Worker other(gang, 1, Gang::Transport::tcp);
    const auto pulled = other.push();
    REQUIRE(pulled.has_value());
    CHECK(pulled->version == 1);
    CHECK(pulled->oldest == 1);
    CHECK(pulled->sums.examples == 2);
    first.context.TryCancel();
    second.context.TryCancel();
  }
  Worker last(gang, 0, Gang::Transport::tcp);
  CHECK(last.version == 1);
}

TEST_CASE("what contradicts how a step was made is refused, and told so", "[backup]") {
  const Gang gang(gang_of(2, 1, 2));
  const auto refused = [&gang](std::size_t ps, const std::function<void(proto::PushFrame&)>& tell) {
    StockStream client(gang.addresses()[ps]);
    proto::PushFrame frame = client.pull(0);
    tell(frame);
    const auto answer = client.exchange(frame);
    return answer.has_value() ? std::string() : answer.error().message;
  };
  const auto made = [](proto::PushFrame& frame) {
    frame.mutable_made()->set_version(1);
    frame.mutable_made()->add_ranks(1);
  };
  CHECK(refused(1, made) == "step 1 is made of a gradient of rank 1, which this ps does not hold");
  CHECK(refused(0, made) == "step 1 cannot follow version 0");
  const auto ready = [](proto::PushFrame& frame) {
    frame.set_ready(true);
    frame.set_step(1);
  };
  for (const std::size_t ps : {0, 1}) {
    CHECK(refused(ps, ready) == "step 1 of rank 0 is not held by this ps, or not its to make");
  }
  const Gang without(test::small_gang);
  StockStream client(without.addresses().front());
  proto::PushFrame frame = client.pull(0);
  ready(frame);
  CHECK(client.exchange(frame).error().message == "this job has no backup workers");
}

TEST_CASE("every worker trains at its own pace to the same last version", "[backup]") {
  for (const std::int64_t ps : {1, 3}) {
    const Gang gang(gang_of(4, 2, ps));
    std::vector<std::vector<float>> ends(4);
    {
      std::vector<std::jthread> threads;
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        threads.emplace_back([&gang, &ends, rank] {
          auto connected = RemoteParams::connect(
              gang.options(rank, transports[static_cast<std::size_t>(rank) % transports.size()]));
          if (!connected.has_value()) return;
          RemoteParams& params = **connected;
          const auto gradient =
              std::make_shared<AlignedBuffer>(static_cast<std::size_t>(gang.spec().elements));
          auto pulled = params.pull(0);
          while (pulled.has_value() && pulled->version < gang.spec().max_steps) {
            const std::int64_t step = pulled->version + 1;
            test::fake_gradient(pulled->parameters, rank, step, gradient->span());
            for (std::int64_t turns = 300 * rank; turns > 0; --turns) std::this_thread::yield();
            pulled =
                params.push_pull({.step = step, .sums = {.examples = 10}, .gradient = gradient});
          }
          if (pulled.has_value()) ends[static_cast<std::size_t>(rank)] = parameters_of(*pulled);
        });
      }
    }
    REQUIRE_FALSE(ends[0].empty());
    for (const auto& end : ends) CHECK(end == ends[0]);
  }
}

}  // namespace trainyard::runtime
