// What a ps refuses, what it says when peers go, and when it ends.
#include "runtime/net/ps_server.h"

#include <catch2/catch.hpp>

#include "runtime/net/frame.h"
#include "tests/runtime/net/gang.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

constexpr std::int64_t elements = 1000;
const GangSpec small{.workers = 2, .max_steps = 3, .elements = elements};

// A stock protobuf client: what any language can write.
struct StockStream {
  explicit StockStream(const std::string& address)
      : stub(proto::Params::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream = stub->PushPull(&context);
  }

  proto::PushFrame push(std::int64_t rank, std::int64_t step) const {
    proto::PushFrame frame;
    frame.set_token("token");
    frame.set_rank(rank);
    frame.set_step(step);
    frame.set_base_version(step - 1);
    frame.set_examples(1);
    const std::vector<float> gradient(elements, 1.0F);
    frame.set_data(std::string(reinterpret_cast<const char*>(gradient.data()), elements * 4));
    return frame;
  }

  proto::PushFrame pull(std::int64_t rank) const {
    proto::PushFrame frame = push(rank, 0);
    frame.set_examples(0);
    frame.clear_data();
    return frame;
  }

  // The answer, or the status the stream ended with.
  Result<proto::PullFrame> exchange(const proto::PushFrame& frame) {
    proto::PullFrame answer;
    stream->Write(frame);
    if (stream->Read(&answer)) return answer;
    const grpc::Status status = stream->Finish();
    return Error{Code::internal, status.error_message()};
  }

  std::unique_ptr<proto::Params::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<proto::PushFrame, proto::PullFrame>> stream;
};

GangSpec alone() {
  GangSpec spec = small;
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
        "step 9 of rank 0 cannot follow version 0");
  CHECK(refused([](auto& frame) { frame.set_examples(-1); }) ==
        "examples must be 0 to 1099511627776");
  CHECK(refused([](auto& frame) { frame.set_base_version(7); }) ==
        "base version 7 never was: this ps is at version 0");
  CHECK(refused([](auto& frame) { frame.mutable_data()->resize(8); }) ==
        "a gradient of 2 floats for a share of 1000");
  CHECK_FALSE(refused([](auto& frame) { frame.set_data(std::string(1 << 20, 'x')); }).empty());

  StockStream client(address);
  CHECK(client.exchange(client.push(0, 1)).has_value());
}

TEST_CASE("a sync worker that vanishes ends the wait of the others", "[ps_server]") {
  GangSpec spec = small;
  for (const int return_limit : {0, 50}) {
    spec.return_limit = std::chrono::milliseconds(return_limit);
    const Gang gang(spec);
    StockStream lost(gang.addresses().front());
    REQUIRE(lost.exchange(lost.pull(1)).has_value());

    StockStream waiting(gang.addresses().front());
    waiting.stream->Write(waiting.push(0, 1));
    lost.context.TryCancel();
    proto::PullFrame answer;
    CHECK_FALSE(waiting.stream->Read(&answer));
    const grpc::Status status = waiting.stream->Finish();
    CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
    CHECK(status.error_message() == "the worker of rank 1 is gone");
  }
}

TEST_CASE("a sync step waits for a worker that vanishes and comes back", "[ps_server]") {
  GangSpec spec = small;
  spec.return_limit = std::chrono::seconds(60);
  const Gang gang(spec);
  StockStream waiting(gang.addresses().front());
  waiting.stream->Write(waiting.push(0, 1));
  for (int process = 0; process < 3; ++process) {
    StockStream lost(gang.addresses().front());
    const auto pulled = lost.exchange(lost.pull(1));
    REQUIRE(pulled.has_value());
    CHECK(pulled->version() == 0);
    lost.context.TryCancel();
  }

  StockStream last(gang.addresses().front());
  REQUIRE(last.exchange(last.pull(1)).has_value());
  const auto pushed = last.exchange(last.push(1, 1));
  REQUIRE(pushed.has_value());
  proto::PullFrame answer;
  REQUIRE(waiting.stream->Read(&answer));
  CHECK(answer.version() == 1);
  CHECK(answer.data() == pushed->data());
}

TEST_CASE("a ps that everybody left does not live for ever", "[ps_server]") {
  GangSpec spec = small;
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
void finish_alone(const Gang& gang) {
  auto chief = RemoteParams::connect(gang.options(0));
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
  Gang gang({.mode = Mode::async, .workers = 2, .max_steps = 1, .elements = elements});
  finish_alone(gang);
  auto late = RemoteParams::connect(gang.options(1));
  REQUIRE(late.has_value());
  const auto pulled = (*late)->pull(0);
  REQUIRE(pulled.has_value());
  CHECK(pulled->version == 1);
  late->reset();
  CHECK(gang.ended(0).value() == PsServer::Ended::finished);
}

TEST_CASE("a ps does not wait for ever for a worker that never came", "[ps_server]") {
  Gang gang({.mode = Mode::async,
             .workers = 2,
             .max_steps = 1,
             .elements = elements,
             .late_caller_limit = std::chrono::milliseconds(50)});
  finish_alone(gang);
  CHECK(gang.ended(0).value() == PsServer::Ended::finished);
}

TEST_CASE("a worker whose ps is gone is told which one", "[ps_server]") {
  Gang gang({.ps = 2, .workers = 1, .max_steps = 3, .elements = elements});
  auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  gang.stop();
  const auto pulled = (*params)->pull(0);
  REQUIRE_FALSE(pulled.has_value());
  CHECK(pulled.error().code == Code::unavailable);
  CHECK(pulled.error().message.find("ps/") == 0);
  CHECK_FALSE((*params)->pull(0).has_value());  // and stays unusable
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
  const Gang gang(small);
  std::stop_source stop;
  RemoteOptions options = gang.options(0);
  options.stop = stop.get_token();
  auto params = RemoteParams::connect(std::move(options));
  REQUIRE(params.has_value());
  stop.request_stop();
  const auto pulled = (*params)->pull(1);  // version 1 will never be
  CHECK(pulled.error() == unavailable("asked to stop"));
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
  for (std::size_t i = 0; i < 3; ++i) CHECK(*gang.ended(i) == PsServer::Ended::finished);
}

}  // namespace trainyard::runtime
