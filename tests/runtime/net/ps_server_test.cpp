// What a ps refuses, what it says when peers go, and when it ends.
#include "runtime/net/ps_server.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/net/frame.h"
#include "tests/runtime/net/stock_stream.h"

namespace trainyard::runtime {
namespace {

using test::elements, test::Gang, test::GangSpec, test::small_gang, test::StockStream;

GangSpec alone() {
  GangSpec spec = small_gang;
  spec.workers = 1;
  return spec;
}

}  // namespace

TEST_CASE("a stock protobuf client can train", "[ps_server]") {
  const Gang gang(alone());
  StockStream client(gang.addresses().front());
  for (std::int64_t step = 1; step <= 3; ++step) {
    const auto answer = client.exchange(client.push(0, step));
    REQUIRE(answer.has_value());
    CHECK(answer->version() == step);
    CHECK(answer->data().size() == elements * 4);
  }
}

TEST_CASE("a frame with another attempt's token is refused", "[ps_server]") {
  const Gang gang(alone());
  StockStream client(gang.addresses().front());
  proto::PushFrame frame = client.push(0, 1);
  frame.set_token("of an older attempt");
  CHECK(client.exchange(frame).error().message == "the token is not that of this attempt");
}

TEST_CASE("control calls with another token are refused", "[ps_server]") {
  const Gang gang(alone());
  RemoteOptions options = gang.options(0);
  options.token = "wrong";
  const auto params = RemoteParams::connect(std::move(options));
  REQUIRE_FALSE(params.has_value());
  CHECK(params.error().code == Code::conflict);
  CHECK(params.error().message.find("ps/0 at 127.0.0.1:") == 0);

  const auto stub = proto::Params::NewStub(
      grpc::CreateChannel(gang.addresses().front(), grpc::InsecureChannelCredentials()));
  proto::PsStatus status;
  proto::SnapshotReply shard;
  grpc::ClientContext finish;
  CHECK_FALSE(stub->Finish(&finish, proto::Caller(), &status).ok());
  grpc::ClientContext snapshot;
  CHECK_FALSE(stub->Snapshot(&snapshot, proto::SnapshotRequest(), &shard).ok());
}

TEST_CASE("a push sent twice is applied once", "[ps_server]") {
  const Gang gang(alone());
  StockStream client(gang.addresses().front());
  const auto first = client.exchange(client.push(0, 1));
  const auto again = client.exchange(client.push(0, 1));
  REQUIRE(again.has_value());
  CHECK(again->version() == 1);
  CHECK(again->data() == first->data());
}

TEST_CASE("frames that make no sense end their stream and nothing else", "[ps_server]") {
  const Gang gang(alone());
  const std::string& address = gang.addresses().front();
  const auto refused = [&address](const std::function<void(proto::PushFrame&)>& change) {
    StockStream client(address);
    proto::PushFrame frame = client.push(0, 1);
    change(frame);
    const auto answer = client.exchange(frame);
    return answer.has_value() ? std::string() : answer.error().message;
  };
  CHECK(refused([](auto& frame) { frame.set_rank(7); }) == "rank 7 is not one of 1");
  CHECK(refused([](auto& frame) { frame.set_step(9); }) ==
        "step 9 cannot be made from a gradient of version 0");
  CHECK(refused([](auto& frame) { frame.set_examples(-1); }) ==
        "examples must be 0 to 1099511627776");
  CHECK(refused([](auto& frame) { frame.set_base_version(7); }) ==
        "base version 7 never was: this ps is at version 0");
  CHECK(refused([](auto& frame) { frame.mutable_data()->resize(8); }) ==
        "a gradient of 8 bytes, not 4000");
  CHECK_FALSE(refused([](auto& frame) { frame.set_data(std::string(1 << 20, 'x')); }).empty());

  StockStream client(address);
  CHECK(client.exchange(client.push(0, 1)).has_value());
}

TEST_CASE("a frame in another encoding than the job's is refused, and told so", "[ps_server]") {
  const auto refused = [](Wire wire, const std::function<void(proto::PushFrame&)>& change) {
    GangSpec spec = alone();
    spec.wire = wire;
    const Gang gang(spec);
    StockStream client(gang.addresses().front());
    proto::PushFrame frame = client.push(0, 1);
    change(frame);
    const auto answer = client.exchange(frame);
    return answer.has_value() ? std::string() : answer.error().message;
  };
  CHECK(refused(Wire::bfloat16, [](auto&) {}) ==
        "a gradient in float32, but the job's wire is bfloat16");
  CHECK(refused(Wire::float32, [](auto& frame) { frame.set_encoding(proto::ONEBIT); }) ==
        "a gradient in onebit, but the job's wire is float32");
  CHECK(refused(Wire::float32, [](auto& frame) {
          frame.set_encoding(static_cast<proto::Encoding>(9));
        }) == "a gradient in an unknown encoding, but the job's wire is float32");
  CHECK(refused(Wire::onebit, [](auto& frame) {
          frame.set_encoding(proto::ONEBIT);
          frame.set_wanted(proto::BFLOAT16);
        }) == "parameters are wanted in bfloat16, but the job's wire is onebit");
  CHECK(refused(Wire::bfloat16, [](auto& frame) { frame.set_encoding(proto::BFLOAT16); }) ==
        "a gradient of 4000 bytes, not 2000");
  CHECK(refused(Wire::onebit, [](auto& frame) {
          frame.set_encoding(proto::ONEBIT);
          frame.set_residuals(true);
        }) == "a gradient of 4000 bytes, not 4133");
  CHECK(refused(Wire::float32, [](auto& frame) { frame.set_residuals(true); }) ==
        "residuals, where the wire has none");

  Gang gang(alone());
  RemoteOptions options = gang.options(0);
  options.wire = Wire::onebit;
  const auto params = RemoteParams::connect(std::move(options));
  REQUIRE_FALSE(params.has_value());
  CHECK(params.error().message.ends_with("takes gradients in float32, not onebit"));
}

TEST_CASE("a stock protobuf client can train in bfloat16 and ask for the master", "[ps_server]") {
  GangSpec spec = alone();
  spec.wire = Wire::bfloat16;
  const Gang gang(spec);
  StockStream client(gang.addresses().front());
  proto::PushFrame frame = client.push(0, 1);
  frame.set_encoding(proto::BFLOAT16);
  frame.mutable_data()->resize(2 * elements);
  frame.set_wanted(proto::BFLOAT16);
  const auto rounded = client.exchange(frame);
  REQUIRE(rounded.has_value());
  CHECK(rounded->encoding() == proto::BFLOAT16);
  CHECK(rounded->data().size() == 2 * elements);
  proto::PushFrame pull = client.push(0, 1);
  pull.set_examples(0);
  pull.clear_data();
  const auto master = client.exchange(pull);
  REQUIRE(master.has_value());
  CHECK(master->encoding() == proto::FLOAT32);
  REQUIRE(master->data().size() == 4 * elements);
  for (std::size_t i = 0; i < elements; ++i) {
    float whole = 0;
    std::uint16_t half = 0;
    std::memcpy(&whole, master->data().data() + 4 * i, 4);
    std::memcpy(&half, rounded->data().data() + 2 * i, 2);
    REQUIRE(half == to_bfloat16(whole));
  }
}

TEST_CASE("a ps that everybody left does not live for ever", "[ps_server]") {
  GangSpec spec = small_gang;
  spec.no_caller_limit = std::chrono::milliseconds(50);
  Gang gang(spec);
  {
    StockStream client(gang.addresses().front());
    proto::PushFrame pull = client.push(0, 0);
    pull.set_examples(0);
    REQUIRE(client.exchange(pull).has_value());
    client.context.TryCancel();
  }
  const auto ended = gang.ended(0);
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error() == unavailable("all workers are gone"));
}

namespace {

// Rank 0 makes the only step there is, and as the chief tells the ps that training is over.
void finish_alone(const Gang& gang, Gang::Transport transport) {
  auto chief = RemoteParams::connect(gang.options(0, transport));
  REQUIRE(chief.has_value());
  const auto gradient = std::make_shared<AlignedBuffer>(elements);
  REQUIRE((*chief)->pull(0).has_value());
  REQUIRE(
      (*chief)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient}).has_value());
  REQUIRE((*chief)->finish().has_value());
}

}  // namespace

TEST_CASE("a worker that comes after the last async step is told that training is over",
          "[ps_server]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    Gang gang({.mode = Mode::async, .workers = 2, .max_steps = 1, .elements = elements});
    finish_alone(gang, transport);
    auto late = RemoteParams::connect(gang.options(1, transport));
    REQUIRE(late.has_value());
    const auto pulled = (*late)->pull(0);
    REQUIRE(pulled.has_value());
    CHECK(pulled->version == 1);
    late->reset();
    CHECK(gang.ended(0).value() == PsServer::Ended::finished);
  }
}

TEST_CASE("a ps stays for a worker that knows the end and has not gone yet", "[ps_server]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    Gang gang({.mode = Mode::async, .workers = 2, .max_steps = 1, .elements = elements});
    auto other = RemoteParams::connect(gang.options(1, transport));
    REQUIRE(other.has_value());
    REQUIRE((*other)->pull(0).has_value());
    finish_alone(gang, transport);
    for (int i = 0; i < 20; ++i) REQUIRE((*other)->pull(1).has_value());
    other->reset();
    CHECK(gang.ended(0).value() == PsServer::Ended::finished);
  }
}

TEST_CASE("a ps does not wait for ever for a worker that never came", "[ps_server]") {
  Gang gang({.mode = Mode::async,
             .workers = 2,
             .max_steps = 1,
             .elements = elements,
             .late_caller_limit = std::chrono::milliseconds(50)});
  finish_alone(gang, Gang::Transport::tcp);
  CHECK(gang.ended(0).value() == PsServer::Ended::finished);
}

TEST_CASE("a worker whose ps is gone is told which one", "[ps_server]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    Gang gang({.ps = 2, .workers = 1, .max_steps = 3, .elements = elements});
    auto params = RemoteParams::connect(gang.options(0, transport));
    REQUIRE(params.has_value());
    REQUIRE((*params)->pull(0).has_value());
    gang.stop();
    const auto pulled = (*params)->pull(0);
    REQUIRE_FALSE(pulled.has_value());
    CHECK(pulled.error().code == Code::unavailable);
    CHECK(pulled.error().message.find("ps/") == 0);
    CHECK_FALSE((*params)->pull(0).has_value());  // and stays unusable
  }
}

TEST_CASE("a ps that never comes is an error that names it", "[ps_server]") {
  RemoteOptions options;
  options.ps = {"127.0.0.1:1"};
  options.arena_elements = 10;
  options.connect_limit = std::chrono::milliseconds(200);
  const auto params = RemoteParams::connect(std::move(options));
  REQUIRE_FALSE(params.has_value());
  CHECK(params.error().message.find("ps/0 at 127.0.0.1:1") == 0);
}

TEST_CASE("a worker that is asked to stop does not wait for the others", "[ps_server]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    const Gang gang(small_gang);
    std::stop_source stop;
    RemoteOptions options = gang.options(0, transport);
    options.stop = stop.get_token();
    auto params = RemoteParams::connect(std::move(options));
    REQUIRE(params.has_value());
    stop.request_stop();
    const auto pulled = (*params)->pull(1);  // version 1 will never be
    CHECK(pulled.error() == unavailable("asked to stop"));
  }
}

TEST_CASE("a worker does not wait for ever, and is told for which ps", "[ps_server]") {
  for (const auto transport : test::all_transports) {
    INFO(test::name_of(transport));
    const Gang gang(small_gang);
    RemoteOptions options = gang.options(0, transport);
    options.exchange_limit = std::chrono::milliseconds(1);
    auto params = RemoteParams::connect(std::move(options));
    REQUIRE(params.has_value());
    const auto pulled = (*params)->pull(1);
    CHECK(pulled.error() ==
          unavailable("ps/0 at " + gang.addresses().front() + ": no answer in time"));
  }
}

TEST_CASE("the chief gets every ps' shard, and Finish ends them all", "[ps_server]") {
  Gang gang({.ps = 3, .workers = 1, .max_steps = 1, .elements = 60'000});
  auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  const auto gradient = std::make_shared<AlignedBuffer>(60'000);
  REQUIRE((*params)->pull(0).has_value());
  REQUIRE((*params)
              ->push_pull(
                  {.step = 1, .sums = {.examples = 1}, .snapshot_step = 1, .gradient = gradient})
              .has_value());

  const auto shards = (*params)->snapshot({.step = 1, .keep_steps = {}});
  REQUIRE(shards.has_value());
  REQUIRE(shards->size() == 3);
  for (const WrittenShard& shard : *shards) {
    CHECK(shard.file.name == "shard of 1");
    CHECK(shard.version == 1);
    CHECK(shard.rank_steps == std::vector<std::int64_t>{1});
  }
  REQUIRE((*params)->finish().has_value());
  params->reset();
  for (std::size_t i = 0; i < 3; ++i) CHECK(*gang.ended(i) == PsServer::Ended::finished);
}

}  // namespace trainyard::runtime
