// What a ps does with those who come to its stream sockets: those who keep to the rules, those who
// do not, those who die and those who are slow.
#include "runtime/net/stream_port.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>

#include "runtime/net/frame.h"
#include "tests/runtime/net/stream_client.h"

namespace trainyard::runtime {
namespace {

using test::Door, test::doors, test::elements, test::Gang, test::GangSpec, test::pull_of,
    test::push_of, test::small_gang, test::StreamClient, test::worker;

GangSpec waiting_gang() {
  GangSpec spec = small_gang;
  spec.return_limit = std::chrono::seconds(60);
  return spec;
}

}  // namespace

TEST_CASE("a client of frames trains as one of gRPC does", "[stream_port]") {
  for (const Door door : doors) {
    GangSpec spec = small_gang;
    spec.workers = 1;
    const Gang gang(spec);
    const Gang other(spec);
    test::StockStream stock(other.addresses().front());
    StreamClient client = worker(gang, 0, door);
    for (std::int64_t step = 1; step <= 3; ++step) {
      const auto answer = client.exchange(push_of(0, step));
      REQUIRE(answer.has_value());
      CHECK(answer->version() == step);
      CHECK(answer->data() == stock.exchange(stock.push(0, step))->data());
    }
  }
}

TEST_CASE("a stream without the attempt's token is refused", "[stream_port]") {
  const Gang gang(small_gang);
  StreamClient stranger(gang.addresses().front());
  CHECK(stranger.greet("of another attempt").error() ==
        conflict("the token is not that of this attempt"));
  StreamClient rude(gang.addresses().front());
  CHECK(rude.exchange(pull_of(0)).error() == conflict("a stream begins with its hello"));

  StreamClient changed = worker(gang, 0);
  proto::PushFrame frame = push_of(0, 1);
  frame.set_token("of another attempt");
  CHECK(changed.exchange(frame).error() == conflict("the token is not that of this attempt"));
}

TEST_CASE("a frame that cannot be is refused before its payload is taken", "[stream_port]") {
  const Gang gang(small_gang);
  const auto refused = [&gang](const proto::PushFrame& frame, std::uint64_t payload_bytes) {
    StreamClient client = worker(gang, 0);
    proto::StreamPush message;
    *message.mutable_frame() = frame;
    message.mutable_frame()->clear_data();
    REQUIRE(client.send(StreamClient::head(message, payload_bytes)));  // and not a byte more
    return client.receive().error();
  };
  constexpr std::uint64_t huge = std::uint64_t{1} << 62;
  CHECK(refused(push_of(0, 1), huge) ==
        invalid("a gradient of 4611686018427387904 bytes, not 4000"));
  CHECK(refused(push_of(0, 1), 8) == invalid("a gradient of 8 bytes, not 4000"));
  CHECK(refused(pull_of(0), 8) == invalid("a payload of 8 bytes, not 0"));
  CHECK(refused(push_of(1, 1), 4000) == invalid("the rank of a stream never changes"));
  proto::PushFrame strange = push_of(0, 1);
  strange.set_residuals(true);
  CHECK(refused(strange, 8000) == invalid("residuals, where the wire has none"));

  const auto cut_up = [&gang](const std::vector<std::uint64_t>& pieces) {
    StreamClient client = worker(gang, 0);
    proto::StreamPush message;
    *message.mutable_frame() = push_of(0, 1);
    message.mutable_frame()->clear_data();
    for (const std::uint64_t bytes : pieces) message.add_pieces_from_end(bytes);
    REQUIRE(client.send(StreamClient::head(message, 4000)));
    return client.receive().error();
  };
  CHECK(cut_up({3000, 999}) == invalid("pieces of less than the payload"));
  CHECK(cut_up({3000, ~std::uint64_t{0}}) == invalid("pieces of more than the payload"));
  CHECK(cut_up(std::vector<std::uint64_t>(129, 1)) ==
        invalid("129 pieces of a payload, more than 128"));

  StreamClient nobody(gang.addresses().front());
  REQUIRE(nobody.greet().has_value());
  CHECK(nobody.exchange(push_of(7, 1)).error() == invalid("rank 7 is not one of 2"));
}

TEST_CASE("a refusal arrives though the caller is in the middle of its payload", "[stream_port]") {
  constexpr std::int64_t many = 8 << 20;  // more than the system keeps on its way
  for (const Door door : doors) {
    const Gang gang({.workers = 1, .max_steps = 3, .elements = many});
    StreamClient client = worker(gang, 0, door);
    client.send(push_of(0, 1, many - 1));  // which may end early
    CHECK(client.receive().error() == invalid("a gradient of 33554428 bytes, not 33554432"));
  }
}

TEST_CASE("bytes that are no frames end their stream and nothing else", "[stream_port]") {
  const Gang gang(small_gang);
  const auto refused = [&gang](const std::string& bytes) {
    StreamClient client(gang.addresses().front());
    REQUIRE(client.send(bytes));
    return client.receive().error();
  };
  CHECK(refused("GET / HTTP/1.1\r\n\r\n") == invalid("bytes that are no frame"));
  std::string long_header = StreamClient::head(proto::StreamPush(), 0);
  long_header[5] = '\x7f';  // of its length
  CHECK(refused(long_header) == invalid("a header of 32512 bytes, more than 4096"));
  std::string no_push = StreamClient::head(proto::StreamPush(), 0);
  no_push[4] = 3;
  CHECK(refused(no_push + "\xff\xff\xff") == invalid("a frame that is no StreamPush"));
  CHECK(worker(gang, 0).exchange(pull_of(0)).has_value());
}

TEST_CASE("a second frame before the first is answered is refused", "[stream_port]") {
  const Gang gang(small_gang);
  StreamClient hasty = worker(gang, 0);
  REQUIRE(hasty.send(push_of(0, 1)));
  REQUIRE(hasty.send(push_of(0, 2)));
  CHECK(hasty.receive().error() == invalid("a frame before the last one was answered"));
}

TEST_CASE("a sync worker that dies in the middle of a frame ends the wait of the others",
          "[stream_port]") {
  for (const Door door : doors) {
    const Gang gang(small_gang);
    StreamClient waiting = worker(gang, 0, door);
    REQUIRE(waiting.send(push_of(0, 1)));
    {
      StreamClient lost = worker(gang, 1, door);
      proto::StreamPush message;
      *message.mutable_frame() = push_of(1, 1);
      message.mutable_frame()->clear_data();
      REQUIRE(lost.send(StreamClient::head(message, 4000) + std::string(1234, 'x')));
    }
    CHECK(waiting.receive().error() == unavailable("the worker of rank 1 is gone"));
  }
}

TEST_CASE("a sync step waits for a worker at a stream that dies and comes back", "[stream_port]") {
  for (const Door door : doors) {
    const Gang gang(waiting_gang());
    StreamClient waiting = worker(gang, 0, door);
    REQUIRE(waiting.send(push_of(0, 1)));
    for (int process = 0; process < 3; ++process) {
      StreamClient lost = worker(gang, 1, door);
      proto::StreamPush message;
      *message.mutable_frame() = push_of(1, 1);
      message.mutable_frame()->clear_data();
      REQUIRE(lost.send(StreamClient::head(message, 4000) + std::string(100, 'x')));
    }
    StreamClient last = worker(gang, 1, door);
    const auto pushed = last.exchange(push_of(1, 1));
    REQUIRE(pushed.has_value());
    const auto answer = waiting.receive();
    REQUIRE(answer.has_value());
    CHECK(answer->version() == 1);
    CHECK(answer->data() == pushed->data());
  }
}

// No worker does this: a rank's gradient of a step is the same whichever process makes it. So it
// shows what was summed of whose.
TEST_CASE("what has come of a gradient from its end on is summed before the rest is there",
          "[stream_port]") {
  constexpr std::int64_t many = 20'000;
  GangSpec spec = waiting_gang();
  spec.workers = 1;
  spec.elements = many;
  spec.optimizer = {.kind = OptimizerKind::sgd};
  proto::PushFrame ones = push_of(0, 1, many);
  proto::PushFrame twos = ones;
  const std::vector<float> gradient(many, 2.0F);
  twos.set_data(std::string(reinterpret_cast<const char*>(gradient.data()), many * sizeof(float)));
  const auto trained_on = [&spec](const proto::PushFrame& push) {
    const Gang gang(spec);
    return worker(gang, 0).exchange(push)->data();
  };
  const std::string on_ones = trained_on(ones);
  const std::string on_twos = trained_on(twos);
  REQUIRE(on_ones != on_twos);

  proto::StreamPush begun;
  *begun.mutable_frame() = twos;
  begun.mutable_frame()->clear_data();
  constexpr std::size_t last = 30'000;
  for (const std::size_t bytes : {last, 4 * many - last}) begun.add_pieces_from_end(bytes);
  for (const Door door : doors) {
    for (const std::size_t come : {last - 4, last, 2 * last}) {
      INFO(come << " bytes");
      const Gang gang(spec);
      {
        StreamClient lost = worker(gang, 0, door);
        REQUIRE(lost.send(StreamClient::head(begun, 4 * many) + twos.data().substr(0, come)));
      }
      const auto answer = worker(gang, 0, door).exchange(ones);
      REQUIRE(answer.has_value());
      const std::size_t ahead = come < last ? 0 : last;
      const std::size_t rest = 4 * many - ahead;
      CHECK(answer->data() == on_ones.substr(0, rest) + on_twos.substr(rest));
    }
  }
}

TEST_CASE("what an earlier process sends late at a stream is refused", "[stream_port]") {
  const Gang gang(waiting_gang());
  StreamClient earlier = worker(gang, 1);
  StreamClient successor = worker(gang, 1);
  CHECK(earlier.exchange(push_of(1, 1)).error() ==
        conflict("another connection of this task has come"));
  StreamClient other = worker(gang, 0);
  REQUIRE(other.send(push_of(0, 1)));
  CHECK(successor.exchange(push_of(1, 1)).has_value());
}

TEST_CASE("a caller that reads slowly delays nobody, and gets all of its answer", "[stream_port]") {
  constexpr std::int64_t many = 8 << 20;  // more than the system keeps on its way
  for (const Door door : doors) {
    const Gang gang({.mode = Mode::async, .workers = 2, .max_steps = 3, .elements = many});
    StreamClient slow(gang.addresses().front(), door);
    REQUIRE(slow.greet().has_value());
    REQUIRE(slow.send(pull_of(0)));
    StreamClient other = worker(gang, 1, door);
    for (std::int64_t step = 1; step <= 3; ++step) {
      proto::PushFrame push = push_of(1, step, many);
      const auto answer = other.exchange(std::move(push));
      REQUIRE(answer.has_value());
      CHECK(answer->version() == step);
    }
    const auto answer = slow.receive();
    REQUIRE(answer.has_value());
    CHECK(answer->version() == 0);
    const AlignedBuffer first = test::first_parameters(many);
    const auto expected = std::as_bytes(first.span());
    CHECK(std::ranges::equal(std::as_bytes(std::span(answer->data())), expected));
  }
}

TEST_CASE("who finds no descriptor left waits for one, and those who are there go on",
          "[stream_port]") {
  for (const Door door : doors) {
    GangSpec spec = small_gang;
    spec.mode = Mode::async;
    const Gang gang(spec);
    StreamClient first = worker(gang, 0, door);
    const std::string address = gang.addresses().front();
    const proto::PsStatus status = test::describe(address);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);

    rlimit tight = before;  // one more, which the second caller has itself
    tight.rlim_cur = static_cast<rlim_t>(Descriptor(::dup(STDERR_FILENO)).get()) + 1;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    StreamClient second(test::knock(address, status, door));
    const auto answer = first.exchange(push_of(0, 1));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(answer.has_value());
    CHECK(second.greet().has_value());
  }
}

TEST_CASE("a ps ends when nobody but strangers is at its stream sockets", "[stream_port]") {
  GangSpec spec = small_gang;
  spec.no_caller_limit = std::chrono::milliseconds(50);
  Gang gang(spec);
  StreamClient stranger(gang.addresses().front());
  REQUIRE(stranger.send("TYF1"));
  { const StreamClient known = worker(gang, 0); }
  CHECK(gang.ended(0).error() == unavailable("all workers are gone"));
}

}  // namespace trainyard::runtime
