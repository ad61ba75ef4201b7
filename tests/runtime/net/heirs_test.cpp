// Real ps and workers' channels: a sync step is made without the workers that are gone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <utility>

#include "runtime/core/step_protocol.h"
#include "tests/runtime/net/stock_stream.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec, test::StockStream;

constexpr GangSpec three_workers{
    .ps = 2, .workers = 3, .keeps_previous = true, .names_heirs = true};

enum class Death { never, before_push, in_push, after_push };

struct Life {
  Death death = Death::never;
  std::int64_t step = 0;  // of the death
};

struct End {
  std::vector<float> parameters;  // where it lived to see the last
  std::int64_t inherited = 0;
  std::string error;
};

// A worker's process, from its first pull to its end, as runtime/role/worker goes about it.
class Worker {
 public:
  Worker(const Gang& gang, std::int64_t rank, Gang::Transport transport, Life life)
      : gang_(gang), rank_(rank), transport_(transport), life_(life) {}

  End run() {
    const Status lived = live();
    if (!lived.has_value()) end_.error = lived.error().message;
    return end_;
  }

 private:
  Status live() {
    RemoteOptions options = gang_.options(rank_, transport_);
    options.stop = killed_.get_token();
    options.summed_early = true;
    TRY_ASSIGN(params_, RemoteParams::connect(std::move(options)));
    gradient_ = params_->gradient_buffer(static_cast<std::size_t>(gang_.spec().elements));
    StepProtocol protocol({.mode = Mode::sync, .max_steps = gang_.spec().max_steps});
    for (;;) {
      const StepProtocol::Ask asked = protocol.next();
      using enum StepProtocol::Ask::What;
      if (asked.what == nothing) break;
      if (asked.what == inherit) {
        for (const std::int64_t rank : protocol.inheritance().ranks) {
          TRY(params_->inherit(rank, contribution(rank, asked.step)));
          ++end_.inherited;
        }
        protocol.inherited();
        continue;
      }
      if (asked.what == push && asked.step == life_.step) die();
      TRY_ASSIGN(pulled_, asked.what == push           ? exchange(asked.step)
                          : asked.what == pull_exactly ? params_->pull_exactly(asked.version)
                                                       : params_->pull(asked.version));
      protocol.take({.version = pulled_.version,
                     .oldest = pulled_.oldest,
                     .newest = pulled_.newest,
                     .rank_step = pulled_.rank_step,
                     .rank_step_max = pulled_.rank_step_max,
                     .inheritance = pulled_.inheritance});
    }
    end_.parameters.assign(pulled_.parameters.begin(), pulled_.parameters.end());
    return ok();
  }

  // From now on it does not wait for an answer, and goes without a goodbye.
  void die() {
    if (life_.death != Death::never) killed_.request_stop();
  }

  Result<Pulled> exchange(std::int64_t step) {
    const bool dies = step == life_.step;
    if (dies && life_.death == Death::before_push) return params_->pull(step + 1);
    Contribution own = contribution(rank_, step);
    const std::shared_ptr<const AlignedBuffer> made = std::exchange(own.gradient, gradient_);
    begin(own, *made);
    if (dies && life_.death == Death::in_push) return params_->pull(step + 1);
    std::ranges::copy(made->span().first(final_from(*made)), gradient_->span().begin());
    return params_->push_pull(own);
  }

  static std::size_t final_from(const AlignedBuffer& made) { return made.size() / 3; }

  // With the last two thirds as they will be, and nothing that counts before them: where the way
  // allows it a ps may have summed them when the worker dies.
  void begin(const Contribution& own, const AlignedBuffer& made) {
    const std::size_t from = final_from(made);
    std::ranges::fill(gradient_->span().first(from), -1e30F);
    std::ranges::copy(made.span().subspan(from),
                      gradient_->span().begin() + static_cast<std::ptrdiff_t>(from));
    if (params_->begin_push(own)) params_->release(static_cast<std::int64_t>(from));
  }

  [[nodiscard]] Contribution contribution(std::int64_t rank, std::int64_t step) const {
    const auto gradient = std::make_shared<AlignedBuffer>(pulled_.parameters.size());
    test::fake_gradient(pulled_.parameters, rank, step, gradient->span());
    return {.step = step, .sums = {.examples = 10}, .gradient = gradient};
  }

  const Gang& gang_;
  std::int64_t rank_;
  Gang::Transport transport_;
  Life life_;
  std::stop_source killed_;
  std::unique_ptr<RemoteParams> params_;
  std::shared_ptr<AlignedBuffer> gradient_;
  Pulled pulled_;
  End end_;
};

// lives[r] are those of rank r's processes, one after another.
std::vector<End> run(const GangSpec& spec, Gang::Transport transport,
                     const std::vector<std::vector<Life>>& lives) {
  const Gang gang(spec);
  std::vector<End> ends(lives.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < lives.size(); ++rank) {
    threads.emplace_back([&, rank] {
      for (const Life& life : lives[rank]) {
        ends[rank] = Worker(gang, static_cast<std::int64_t>(rank), transport, life).run();
      }
    });
  }
  threads.clear();
  return ends;
}

const std::vector<std::vector<Life>> nobody_dies{{Life{}}, {Life{}}, {Life{}}};

}  // namespace

TEST_CASE("a worker that never comes back changes no byte and is not waited for", "[heirs]") {
  for (const Wire wire : {Wire::float32, Wire::bfloat16}) {
    GangSpec spec = three_workers;
    spec.wire = wire;
    const auto undisturbed = run(spec, Gang::Transport::shared_memory, nobody_dies);
    REQUIRE_FALSE(undisturbed[0].parameters.empty());
    CHECK(undisturbed[0].inherited == 0);
    for (const Gang::Transport transport : test::all_transports) {
      for (const Death death : {Death::before_push, Death::in_push, Death::after_push}) {
        INFO(test::name_of(transport) << ", death " << static_cast<int>(death));
        const auto ends = run(spec, transport, {{Life{}}, {Life{}}, {Life{death, 4}}});
        CHECK(ends[0].error == "");
        CHECK(ends[1].error == "");
        CHECK(ends[0].parameters == undisturbed[0].parameters);
        CHECK(ends[1].parameters == undisturbed[0].parameters);
        CHECK(ends[0].inherited + ends[1].inherited >= spec.max_steps - 4);
      }
    }
  }
}

TEST_CASE("so it is where parameters go ahead of an answer that asks for an heir",
          "[heirs][tails]") {
  GangSpec spec = three_workers;
  spec.elements = 600'000;
  const auto undisturbed = run(spec, Gang::Transport::shared_memory, nobody_dies);
  for (const Gang::Transport transport : {Gang::Transport::unix_socket, Gang::Transport::tcp}) {
    for (const Death death : {Death::before_push, Death::in_push, Death::after_push}) {
      INFO(test::name_of(transport) << ", death " << static_cast<int>(death));
      const auto ends = run(spec, transport, {{Life{}}, {Life{}}, {Life{death, 4}}});
      CHECK(ends[0].error == "");
      CHECK(ends[0].parameters == undisturbed[0].parameters);
      CHECK(ends[1].parameters == undisturbed[0].parameters);
    }
  }
}

TEST_CASE("workers that die and come back are stood in for meanwhile", "[heirs]") {
  GangSpec spec = three_workers;
  spec.max_steps = 40;
  const auto undisturbed = run(spec, Gang::Transport::shared_memory, nobody_dies);
  for (const Gang::Transport transport : test::all_transports) {
    INFO(test::name_of(transport));
    const auto ends = run(spec, transport,
                          {{Life{}},
                           {Life{Death::after_push, 3}, Life{Death::before_push, 20}, Life{}},
                           {Life{Death::before_push, 3}, Life{Death::in_push, 9},
                            Life{Death::in_push, 10}, Life{Death::after_push, 12}, Life{}}});
    for (const End& end : ends) {
      CHECK(end.error == "");
      CHECK(end.parameters == undisturbed[0].parameters);
    }
  }
}

TEST_CASE("an inherited gradient that cannot be is refused", "[heirs]") {
  GangSpec spec = three_workers;
  spec.ps = 1;
  const Gang gang(spec);
  const auto channel =
      grpc::CreateChannel(gang.addresses().front(), grpc::InsecureChannelCredentials());
  const auto stub = proto::Params::NewStub(channel);
  const auto call = [&stub](const proto::PushFrame& frame) {
    grpc::ClientContext context;
    attach_token(context, "token");
    proto::InheritReply reply;
    return stub->Inherit(&context, frame, &reply);
  };
  proto::PushFrame good;
  good.set_token("token");
  good.set_rank(2);
  good.set_step(1);
  good.set_examples(10);
  good.set_data(std::string(static_cast<std::size_t>(spec.elements) * sizeof(float), '\0'));

  const auto refused = [&](auto change, const std::string& why) {
    proto::PushFrame frame = good;
    change(frame);
    const grpc::Status status = call(frame);
    CHECK_THAT(status.error_message(), Catch::Contains(why));
  };
  refused([](auto& frame) { frame.set_token("older"); }, "token");
  refused([](auto& frame) { frame.set_rank(3); }, "rank 3 is not one of 3");
  refused([](auto& frame) { frame.set_rank(-1); }, "rank -1 is not one of 3");
  refused([](auto& frame) { frame.set_data("abcd"); }, "a gradient of 4 bytes");
  refused([](auto& frame) { frame.set_examples(0); }, "an inherited gradient");
  refused([](auto& frame) { frame.set_examples(-1); }, "examples must be");
  refused([](auto& frame) { frame.set_correct(11); }, "correct must be");
  refused([](auto& frame) { frame.set_step(2); }, "an inherited gradient");
  refused([](auto& frame) { frame.set_snapshot_step(1); }, "an inherited gradient");
  refused([](auto& frame) { frame.set_announced_snapshot(2); }, "an inherited gradient");
  refused([](auto& frame) { frame.set_encoding(proto::BFLOAT16); }, "a gradient in bfloat16");
  refused(
      [](auto& frame) {
        frame.set_step(3);
        frame.set_base_version(2);
      },
      "cannot follow version 0");
  CHECK(call(good).ok());
  CHECK(call(good).ok());  // twice is once
}

TEST_CASE("where nobody inherits an inherited gradient is refused", "[heirs]") {
  GangSpec spec = three_workers;
  spec.names_heirs = false;
  const Gang gang(spec);
  StockStream worker(gang.addresses().front());
  grpc::ClientContext context;
  attach_token(context, "token");
  proto::InheritReply reply;
  proto::PushFrame frame = worker.push(2, 1);
  const auto stub = proto::Params::NewStub(
      grpc::CreateChannel(gang.addresses().front(), grpc::InsecureChannelCredentials()));
  CHECK_THAT(stub->Inherit(&context, frame, &reply).error_message(),
             Catch::Contains("nobody computes for another"));
}

}  // namespace trainyard::runtime
