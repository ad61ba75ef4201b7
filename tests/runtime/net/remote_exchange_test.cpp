// A worker of several ps: each reached its own way, all watched together.
#include <catch2/catch.hpp>
#include <limits>

#include "tests/runtime/net/relay.h"
#include "tests/runtime/net/stock_stream.h"
#include "tests/runtime/net/stream_client.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec, test::Relay;
using Transport = Gang::Transport;
using Names = std::vector<std::string>;

// The parameters after three steps of a worker that is alone.
Result<std::vector<float>> train_alone(const RemoteOptions& options, Names routes) {
  TRY_ASSIGN(const auto params, RemoteParams::connect(options));
  if (params->transports() != routes) return invalid("went " + params->transports().front());
  const auto gradient = params->gradient_buffer(static_cast<std::size_t>(options.arena_elements));
  TRY_ASSIGN(Pulled pulled, params->pull(0));
  for (std::int64_t step = 1; step <= 3; ++step) {
    test::fake_gradient(pulled.parameters, 0, step, gradient->span());
    TRY_ASSIGN(pulled,
               params->push_pull({.step = step, .sums = {.examples = 10}, .gradient = gradient}));
  }
  return std::vector<float>(pulled.parameters.begin(), pulled.parameters.end());
}

std::vector<float> value_of(const Result<std::vector<float>>& result) {
  INFO((result.has_value() ? "" : result.error().message));
  REQUIRE(result.has_value());
  return *result;
}

// A push that only the second ps can answer: with a refusal. The first waits for another worker.
void check_that_refusal_is_heard(const RemoteOptions& options, const std::string& second) {
  auto params = RemoteParams::connect(options);
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  test::StockStream successor(second);
  proto::PushFrame first = successor.pull(0);
  first.set_process(std::numeric_limits<std::int64_t>::max());  // later than any other
  REQUIRE(successor.exchange(first).has_value());
  const auto gradient =
      (*params)->gradient_buffer(static_cast<std::size_t>(options.arena_elements));
  const auto pulled =
      (*params)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient});
  REQUIRE_FALSE(pulled.has_value());
  CHECK(pulled.error().code == Code::conflict);
  CHECK(pulled.error().message ==
        "ps/1 at " + options.ps[1] + ": another connection of this task has come");
}

const GangSpec two_ps{.ps = 2, .workers = 2, .max_steps = 3};

}  // namespace

TEST_CASE("the refusal of one ps is heard while another lets the worker wait",
          "[remote_exchange]") {
  for (const Transport transport : test::all_transports) {
    INFO(test::name_of(transport));
    const Gang gang(two_ps);
    check_that_refusal_is_heard(gang.options(0, transport), gang.addresses()[1]);
  }
}

TEST_CASE("a worker that leaves in good order is no loss, whichever way it came",
          "[remote_exchange]") {
  for (const Transport transport : test::all_transports) {
    INFO(test::name_of(transport));
    const Gang gang(two_ps);
    {
      const auto leaves = RemoteParams::connect(gang.options(0, transport));
      REQUIRE(leaves.has_value());
      REQUIRE((*leaves)->pull(0).has_value());
    }
    // A sync step without it would be given up, and everybody who waits or comes be told so.
    const auto other = RemoteParams::connect(gang.options(1, transport));
    REQUIRE(other.has_value());
    const auto back = RemoteParams::connect(gang.options(0, transport));
    REQUIRE(back.has_value());
    std::array<Result<Pulled>, 2> ends{internal("never ran"), internal("never ran")};
    {
      const auto step = [&ends](RemoteParams& params, std::size_t rank) {
        const auto gradient = params.gradient_buffer(static_cast<std::size_t>(two_ps.elements));
        ends[rank] = params.pull(0);
        if (!ends[rank].has_value()) return;
        ends[rank] = params.push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient});
      };
      const std::jthread first([&] { step(**back, 0); });
      const std::jthread second([&] { step(**other, 1); });
    }
    for (const auto& end : ends) {
      INFO((end.has_value() ? "" : end.error().message));
      CHECK(end.has_value());
    }
  }
}

TEST_CASE("so it is where the ps are reached in different ways", "[remote_exchange]") {
  for (const std::size_t hidden : {0U, 1U}) {
    INFO("ps/" << hidden << " by gRPC");
    const Gang gang(two_ps);
    const Relay relay(gang.addresses()[hidden]);
    RemoteOptions options = gang.options(0, Transport::tcp);
    options.ps[hidden] = relay.address();
    check_that_refusal_is_heard(options, gang.addresses()[1]);
  }
  GangSpec spec = two_ps;
  for (spec.sharing_ps = 0; spec.sharing_ps <= 1; ++spec.sharing_ps) {
    const Gang gang(spec);
    check_that_refusal_is_heard(gang.options(0), gang.addresses()[1]);
  }
}

TEST_CASE("a ps whose stream port is hidden is reached by gRPC, with the same bits",
          "[remote_exchange]") {
  const GangSpec spec{.ps = 2, .max_steps = 3};
  const auto by = [&spec](Transport transport) {
    const Gang gang(spec);
    const Names routes(2, test::name_of(transport));
    return value_of(train_alone(gang.options(0, transport), routes));
  };
  const std::vector<float> expected = by(Transport::shared_memory);
  for (const Transport transport : test::all_transports) CHECK(by(transport) == expected);

  const Gang gang(spec);
  const Relay relay(gang.addresses()[1]);
  RemoteOptions options = gang.options(0, Transport::tcp);
  options.ps[1] = relay.address();
  CHECK(value_of(train_alone(options, {"tcp", "grpc"})) == expected);
}

TEST_CASE("a ps that dies in the middle of its answer is named, by each call from then on",
          "[remote_exchange]") {
  const GangSpec spec{.max_steps = 3, .elements = 1 << 20};
  const Gang gang(spec);
  const Relay calls(gang.addresses()[0]);
  Relay frames("127.0.0.1:" + std::to_string(test::describe(gang.addresses()[0]).stream_port()),
               {.port = test::describe(gang.addresses()[0]).stream_port()});
  RemoteOptions options = gang.options(0, Transport::tcp);
  options.ps[0] = calls.address();
  options.parameters_follow = true;
  const auto params = RemoteParams::connect(options);
  INFO((params.has_value() ? "" : params.error().message));
  REQUIRE(params.has_value());
  REQUIRE((*params)->transports() == Names{"tcp"});
  REQUIRE((*params)->pull(0).has_value());
  const auto gradient = (*params)->gradient_buffer(static_cast<std::size_t>(spec.elements));
  const Contribution first{.step = 1, .sums = {.examples = 1}, .gradient = gradient};

  frames.let_answer(2 << 20);
  REQUIRE((*params)->push_pull(first).has_value());
  CHECK((*params)->await_parameters(spec.elements / 4).has_value());
  frames.cut();
  const Status rest = (*params)->await_parameters(spec.elements);
  REQUIRE_FALSE(rest.has_value());
  CHECK(rest.error().code == Code::unavailable);
  CHECK(rest.error().message.starts_with("ps/0 at " + calls.address()));
  const Contribution second{.step = 2, .sums = {.examples = 1}, .gradient = gradient};
  CHECK_FALSE((*params)->begin_push(second));
  CHECK((*params)->push_pull(second).error() == rest.error());
  CHECK((*params)->pull(0).error() == rest.error());
}

TEST_CASE("a whole gradient that goes from its end on is counted once, and makes the same bits",
          "[remote_exchange][tails]") {
  const auto pulled_by = [](const GangSpec& spec, Transport transport, bool summed_early) {
    const Gang gang(spec);
    RemoteOptions options = gang.options(0, transport);
    options.summed_early = summed_early;
    const auto params = RemoteParams::connect(options);
    REQUIRE(params.has_value());
    const auto first = (*params)->pull(0);
    REQUIRE(first.has_value());
    const auto gradient = (*params)->gradient_buffer(static_cast<std::size_t>(spec.elements));
    test::fake_gradient(first->parameters, 0, 1, gradient->span());
    const auto pulled =
        (*params)->push_pull({.step = 1, .sums = {.examples = 10}, .gradient = gradient});
    REQUIRE(pulled.has_value());
    CHECK(pulled->traffic.sent == 4 * spec.elements);
    return std::vector<float>(pulled->parameters.begin(), pulled->parameters.end());
  };
  const GangSpec large{.max_steps = 1, .elements = 1'000'003};
  for (GangSpec spec : {GangSpec{.max_steps = 1}, large}) {
    for (spec.ps = 1; spec.ps <= 3; spec.ps += 2) {
      for (const Transport transport : {Transport::unix_socket, Transport::tcp}) {
        CHECK(pulled_by(spec, transport, true) == pulled_by(spec, transport, false));
      }
    }
  }
}

TEST_CASE("a ps that is slow to answer a connection is reached, and its rows",
          "[remote_exchange]") {
  const GangSpec spec{.ps = 2, .max_steps = 3, .row_width = 4};
  const Gang gang(spec);
  const Relay slow(gang.addresses()[1], {.latency = std::chrono::milliseconds(400)});
  RemoteOptions options = gang.options(0, Transport::grpc);
  options.ps[1] = slow.address();
  const auto params = RemoteParams::connect(options);
  INFO((params.has_value() ? "" : params.error().message));
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  const std::vector<std::int64_t> ids{1, 2, 3, 4, 5, 6, 7, 8};  // of both
  std::vector<float> rows(ids.size() * 4);
  CHECK((*params)->read_rows(ids, rows).has_value());
}

TEST_CASE("a ps that shares no memory is reached by its Unix socket, with the same bits",
          "[remote_exchange]") {
  const GangSpec all{.ps = 3, .max_steps = 3};
  GangSpec some = all;
  some.sharing_ps = 1;
  const Gang sharing(all);
  const Gang mixed(some);
  const Names routes{"shared memory", "unix", "unix"};
  CHECK(value_of(train_alone(mixed.options(0), routes)) ==
        value_of(train_alone(sharing.options(0), Names(3, "shared memory"))));
}

}  // namespace trainyard::runtime
