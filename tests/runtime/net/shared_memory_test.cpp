// Memory that processes of one host share: the files, the packets beside them, and what a ps
// answers to those who do not keep to the rules.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "runtime/net/local_socket.h"
#include "runtime/net/shared_lane.h"
#include "schemas/wire/call_token.h"
#include "tests/runtime/net/gang.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

constexpr std::int64_t elements = 1000;
const GangSpec small{.workers = 2, .max_steps = 3, .elements = elements};

SharedFloats new_arena() { return SharedFloats::create(elements).value(); }

std::string shared_socket_of(const Gang& gang) {
  const auto stub = proto::Params::NewStub(
      grpc::CreateChannel(gang.addresses().front(), grpc::InsecureChannelCredentials()));
  proto::Caller caller;
  caller.set_token("token");
  proto::PsStatus status;
  grpc::ClientContext context;
  attach_token(context, "token");
  REQUIRE(stub->Describe(&context, caller, &status).ok());
  return status.shared_socket();
}

SharedLane lane_to(const Gang& gang, const SharedFloats& arena) {
  auto lane = SharedLane::connect(shared_socket_of(gang), elements, arena);
  REQUIRE(lane.has_value());
  return *std::move(lane);
}

proto::PushFrame frame_of(std::int64_t rank, std::int64_t step, std::int64_t examples) {
  proto::PushFrame frame;
  frame.set_token("token");
  frame.set_rank(rank);
  frame.set_step(step);
  frame.set_base_version(std::max<std::int64_t>(step - 1, 0));
  frame.set_examples(examples);
  return frame;
}

// Waits for it.
Result<SharedLane::Received> answer_at(SharedLane& lane) {
  for (;;) {
    TRY_ASSIGN(auto received, lane.receive());
    if (received) return *std::move(received);
    pollfd waiting{.fd = lane.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 20'000) == 0) return unavailable("no answer");
  }
}

Result<SharedLane::Received> exchange(SharedLane& lane, const proto::PushFrame& frame) {
  TRY(lane.send(frame));
  return answer_at(lane);
}

Descriptor copy_of(int descriptor) { return Descriptor(::dup(descriptor)); }

}  // namespace

TEST_CASE("what one holder of shared floats writes the other reads", "[shared_memory]") {
  const SharedFloats mine = new_arena();
  const auto theirs = SharedFloats::open(copy_of(mine.descriptor()), elements);
  REQUIRE(theirs.has_value());
  CHECK(theirs->span()[999] == 0);
  mine.buffer().span()[999] = 7;
  CHECK(theirs->span()[999] == 7);
}

TEST_CASE("a file that is too short, or may become so, is not read", "[shared_memory]") {
  const SharedFloats mine = new_arena();
  CHECK(SharedFloats::open(copy_of(mine.descriptor()), elements * 2).error().code == Code::invalid);
  Descriptor loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(loose.get(), 1 << 20) == 0);
  CHECK(SharedFloats::open(std::move(loose), elements).error() ==
        invalid("shared memory that may shrink"));
}

TEST_CASE("packets arrive whole, with what is passed beside them", "[shared_memory]") {
  const std::string name = new_local_socket_name();
  const auto port = PacketSocket::listen(name);
  REQUIRE(port.has_value());
  CHECK_FALSE(PacketSocket::listen(name).has_value());
  auto caller = PacketSocket::connect(name);
  REQUIRE(caller.has_value());
  const auto called = port->accept();
  REQUIRE(called);
  CHECK_FALSE(called->receive().value());

  const SharedFloats floats = new_arena();
  REQUIRE(caller->send("one", floats.descriptor()).has_value());
  REQUIRE(caller->send("two").has_value());
  auto first = called->receive();
  REQUIRE(first.value());
  CHECK((*first)->bytes == "one");
  CHECK(SharedFloats::open(std::move((*first)->passed), elements).has_value());
  const auto second = called->receive();
  REQUIRE(second.value());
  CHECK((*second)->bytes == "two");
  CHECK_FALSE((*second)->passed);

  caller = unavailable("closed");
  CHECK(called->receive().error() == unavailable("the peer is gone"));
}

TEST_CASE("a worker whose memory is shared pushes and pulls", "[shared_memory]") {
  const Gang gang({.workers = 1, .max_steps = 3, .elements = elements});
  const SharedFloats arena = new_arena();
  SharedLane lane = lane_to(gang, arena);
  const auto first = exchange(lane, frame_of(0, 0, 0));
  REQUIRE(first.has_value());
  const std::vector<float> before(first->parameters.begin(), first->parameters.end());
  std::ranges::fill(arena.buffer().span(), 1.0F);
  const auto second = exchange(lane, frame_of(0, 1, 1));
  REQUIRE(second.has_value());
  CHECK(second->header.version() == 1);
  CHECK(second->parameters[0] < before[0]);
  CHECK(std::ranges::equal(test::first_parameters(elements).span(), before));
  lane.say_goodbye();
}

TEST_CASE("a ps refuses packets as it refuses frames", "[shared_memory]") {
  const Gang gang(small);
  const auto refused = [&gang](const proto::PushFrame& frame) {
    SharedLane lane = lane_to(gang, new_arena());
    return exchange(lane, frame).error();
  };
  proto::PushFrame strange = frame_of(0, 0, 0);
  strange.set_token("of another attempt");
  CHECK(refused(strange) == conflict("the token is not that of this attempt"));
  CHECK(refused(frame_of(2, 0, 0)) == invalid("rank 2 is not one of 2"));
  CHECK(refused(frame_of(0, 1, -1)).code == Code::invalid);
  CHECK(refused(frame_of(0, 7, 1)).code == Code::conflict);

  const auto noise = PacketSocket::connect(shared_socket_of(gang));
  REQUIRE(noise.has_value());
  REQUIRE(noise->send("\xff\xff\xff").has_value());

  SharedLane lane = lane_to(gang, new_arena());
  CHECK(exchange(lane, frame_of(0, 0, 0)).has_value());
}

TEST_CASE("a sync worker that vanishes from shared memory ends the wait of the others",
          "[shared_memory]") {
  const Gang gang(small);
  auto lost = std::make_unique<SharedLane>(lane_to(gang, new_arena()));
  REQUIRE(exchange(*lost, frame_of(1, 0, 0)).has_value());
  SharedLane waiting = lane_to(gang, new_arena());
  REQUIRE(waiting.send(frame_of(0, 1, 1)).has_value());
  lost.reset();
  CHECK(answer_at(waiting).error() == unavailable("the worker of rank 1 is gone"));
}

// No worker does this: what it has said to be final stays as it is. So it shows what was summed
// when.
TEST_CASE("what is final of a gradient is summed before the rest is computed",
          "[shared_memory][tails]") {
  constexpr std::int64_t many = 5000;
  constexpr std::size_t from = 2000;
  enum class Said { at_once, ahead };
  const auto trained = [](float head, float tail, Said said) {
    const Gang gang({.workers = 1,
                     .max_steps = 1,
                     .elements = many,
                     .optimizer = {.kind = OptimizerKind::sgd}});
    const SharedFloats arena = SharedFloats::create(many).value();
    const auto gradient = arena.buffer().span();
    auto lane = SharedLane::connect(shared_socket_of(gang), many, arena);
    REQUIRE(lane.has_value());
    REQUIRE(exchange(*lane, frame_of(0, 0, 0)).has_value());
    std::ranges::fill(gradient, tail);
    if (said == Said::ahead) {
      lane->begin(frame_of(0, 1, 1));
      lane->release(from);
      REQUIRE(exchange(*lane, frame_of(0, 0, 0)).has_value());  // which comes after it
      std::ranges::fill(gradient, head);
    }
    std::ranges::fill(gradient.first(from), head);
    const auto answer = exchange(*lane, frame_of(0, 1, 1));
    REQUIRE(answer.has_value());
    return std::vector<float>(answer->parameters.begin(), answer->parameters.end());
  };
  CHECK(trained(1, 2, Said::ahead) == trained(1, 2, Said::at_once));
}

TEST_CASE("what an earlier process says to be final is not taken for its successor's",
          "[shared_memory][tails]") {
  constexpr std::int64_t many = 5000;
  const Gang gang(
      {.workers = 1, .max_steps = 1, .elements = many, .optimizer = {.kind = OptimizerKind::sgd}});
  const auto begin = [&gang](std::int64_t process, const SharedFloats& arena) {
    auto lane = SharedLane::connect(shared_socket_of(gang), many, arena);
    REQUIRE(lane.has_value());
    proto::PushFrame pull = frame_of(0, 0, 0);
    pull.set_process(process);
    REQUIRE(exchange(*lane, pull).has_value());
    proto::PushFrame push = frame_of(0, 1, 10);
    push.set_process(process);
    lane->begin(push);
    return std::pair(*std::move(lane), push);
  };
  auto [earlier, ignored] = begin(1, SharedFloats::create(many).value());
  const SharedFloats arena = SharedFloats::create(many).value();
  std::ranges::fill(arena.buffer().span(), -1e30F);  // not computed yet
  auto [lane, push] = begin(2, arena);
  earlier.release(100);
  const auto refused = answer_at(earlier);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == conflict("another connection of this task has come"));

  std::ranges::fill(arena.buffer().span(), 0.0F);
  const auto answer = exchange(lane, push);
  REQUIRE(answer.has_value());
  CHECK(std::ranges::equal(answer->parameters, test::first_parameters(many).span()));
}

TEST_CASE("a worker in shared memory is told that its ps is gone", "[shared_memory]") {
  Gang gang(small);
  auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  gang.stop();
  const auto pulled = (*params)->pull(1);
  REQUIRE_FALSE(pulled.has_value());
  CHECK(pulled.error().code == Code::unavailable);
  CHECK(pulled.error().message.starts_with("ps/0 at "));
}

}  // namespace trainyard::runtime
