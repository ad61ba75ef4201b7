// The service Rows among strangers and confused callers: what cannot be is refused, and the gang
// goes on.
#include <grpcpp/generic/generic_stub.h>

#include <catch2/catch.hpp>

#include "runtime/net/raw_calls.h"
#include "schemas/base/index.h"
#include "schemas/proto/rows.pb.h"
#include "schemas/wire/call_token.h"
#include "tests/runtime/rows/row_scene.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of
using grpc::StatusCode;

// A call that sends what it is told to, or nothing, and hears how it ends.
class OneCall {
 public:
  OneCall(const std::string& address, const std::string& path, const std::string& token)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {
    context_.set_deadline(std::chrono::system_clock::now() + patience);
    if (!token.empty()) attach_token(context_, token);
    stream_ = stub_.PrepareCall(&context_, path, &queue_);
    stream_->StartCall(nullptr);
    next();
  }
  ~OneCall() { queue_.Shutdown(); }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;

  StatusCode end() {
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    next();
    return status.error_code();
  }

 private:
  void next() {
    void* tag = nullptr;
    bool good = false;
    queue_.Next(&tag, &good);
  }

  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

std::string address_of(RowServers& servers) {
  return "127.0.0.1:" + std::to_string(servers.of(0).port());
}

constexpr const char* read_path = "/trainyard.proto.Rows/ReadRows";
constexpr const char* push_path = "/trainyard.proto.Rows/PushRows";

// How a message of one who has the token is refused; nothing where it is not.
std::optional<Code> refusal(RowServers& servers, const char* path,
                            const google::protobuf::MessageLite& header, const RowData& data) {
  const auto replies = call_each(
      path,
      {{grpc::CreateChannel(address_of(servers), grpc::InsecureChannelCredentials()), "ps/0"}},
      {encode_rows_message(header, std::make_shared<RowData>(data))},
      {.deadline = patience, .token = row_token, .stop = {}});
  return replies.has_value() ? std::nullopt : std::optional(replies.error().code);
}

RowScene small(Mode mode) {
  return {.mode = mode, .servers = 1, .ranks = 1, .leaves = 1, .width = 2};
}

}  // namespace

TEST_CASE("a call without the gang's token is closed before a message of it is read") {
  RowServers servers(small(Mode::sync));
  for (const char* path : {read_path, push_path, "/trainyard.proto.Rows/Nothing", "/x"}) {
    CAPTURE(path);
    CHECK(OneCall(address_of(servers), path, "").end() == StatusCode::UNAUTHENTICATED);
    CHECK(OneCall(address_of(servers), path, "older").end() == StatusCode::FAILED_PRECONDITION);
  }
  CHECK(OneCall(address_of(servers), "/trainyard.proto.Rows/Nothing", row_token).end() ==
        StatusCode::UNIMPLEMENTED);
}

TEST_CASE("a call that is let in and brings nothing ends") {
  RowScene scene = small(Mode::sync);
  scene.message_limit = std::chrono::milliseconds(50);
  RowServers servers(scene);
  // One whose rows are yet to be made has brought all that it has, and may wait.
  const auto client = servers.connect(0);
  std::optional<Result<Traffic>> read;
  {
    const std::jthread waiter([&] {
      std::vector<float> rows(2);
      read = client->read(1, std::vector<std::int64_t>{3}, rows);
    });
    CHECK(OneCall(address_of(servers), read_path, row_token).end() == StatusCode::CANCELLED);
    REQUIRE(servers.connect(0)->push({.step = 1}, {{}}).has_value());
  }
  CHECK(read->has_value());
}

TEST_CASE("a server ends while somebody says nothing and somebody waits for rows") {
  auto servers = std::make_unique<RowServers>(RowScene{.servers = 1});
  const OneCall silent(address_of(*servers), read_path, row_token);
  RowClient::Options options = servers->options(0);
  std::stop_source stop;
  options.stop = stop.get_token();
  const auto client = RowClient::connect(options);
  REQUIRE(client.has_value());
  Awaited<Code> end;
  const std::jthread waiter([&] {
    std::vector<float> rows(5);
    const auto read = (*client)->read(1, std::vector<std::int64_t>{3}, rows);
    end.set(read.has_value() ? Code::internal : read.error().code);
  });
  servers.reset();
  stop.request_stop();
  CHECK(end.wait() == Code::unavailable);
}

TEST_CASE("requests for rows that cannot be are refused") {
  RowServers servers(small(Mode::sync));
  const auto changed = [&servers](const auto& change) {
    proto::RowRequest about;
    about.set_process(1);
    about.set_version(0);
    about.set_ids(2);
    RowData data{.ids = {3, 9}};
    change(about, data);
    return refusal(servers, read_path, about, data);
  };
  using About = proto::RowRequest;
  CHECK(changed([](About& about, RowData&) { about.set_rank(-1); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_rank(1); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_ids(3); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_ids(1); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_ids(-1); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_version(5); }) == Code::conflict);
  CHECK(changed([](About& about, RowData&) { about.set_version(-1); }) == Code::conflict);
  CHECK(changed([](About& about, RowData&) { about.set_batch(1); }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.ids[0] = -3; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.floats = {1}; }) == Code::invalid);
  CHECK(changed([](About& about, RowData& data) {
          about.set_bags(1);
          data.sizes = {1};
        }) == Code::invalid);
  CHECK(changed([](About&, RowData&) {}) == std::nullopt);
  CHECK(changed([](About& about, RowData&) { about.set_process(9); }) == std::nullopt);
  CHECK(changed([](About&, RowData&) {}) == Code::conflict);  // of an earlier process now
}

TEST_CASE("batches that cannot be are refused") {
  RowServers servers(small(Mode::async));
  const auto changed = [&servers](const auto& change) {
    proto::RowRequest about;
    about.set_batch(1);
    about.set_ids(2);
    about.set_bags(1);
    about.set_elements(2);
    RowData data{.ids = {3, 9}, .sizes = {2}, .places = {0, 1}, .floats = {1, 2}};
    change(about, data);
    return refusal(servers, read_path, about, data);
  };
  using About = proto::RowRequest;
  CHECK(changed([](About& about, RowData&) { about.set_bags(-1); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_elements(-1); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_bags(std::int64_t{1} << 62); }) ==
        Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_elements(std::int64_t{1} << 62); }) ==
        Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_bags(0); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_elements(0); }) == Code::invalid);
  CHECK(changed([](About& about, RowData&) { about.set_version(0); }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.sizes = {3}; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.sizes = {0xFFFFFFFF}; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.places = {0, 2}; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.places = {0, 0xFFFFFFFF}; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.floats = {1}; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.ids = {9, 3}; }) == Code::invalid);
  CHECK(changed([](About&, RowData& data) { data.ids = {-9, 3}; }) == Code::invalid);
  CHECK(changed([](About&, RowData&) {}) == std::nullopt);
}

TEST_CASE("gradients that cannot be are refused, and leave room for those that can") {
  RowServers servers(small(Mode::async));
  const auto push = [&servers](std::int64_t step, std::vector<std::int64_t> counts,
                               std::int64_t batch, const RowData& data) {
    proto::RowPush about;
    about.set_step(step);
    about.mutable_counts()->Assign(counts.begin(), counts.end());
    about.set_batch(batch);
    return refusal(servers, push_path, about, data);
  };
  CHECK(push(1, {1}, 0, {.ids = {-1}, .floats = {1, 2}}) == Code::invalid);
  CHECK(push(1, {2}, 0, {.ids = {1}, .floats = {1, 2}}) == Code::invalid);  // floats are not ids
  CHECK(push(1, {1}, 0, {.ids = {1}, .floats = {1}}) == Code::invalid);
  CHECK(push(1, {}, 0, {}) == Code::invalid);
  CHECK(push(1, {0, 0}, 0, {}) == Code::invalid);
  CHECK(push(1, {std::int64_t{1} << 62, std::int64_t{1} << 62}, 0, {}) == Code::invalid);
  CHECK(push(2, {0}, 0, {}) == Code::conflict);
  CHECK(push(1, {}, 1, {.floats = {1, 2}}) == Code::conflict);  // no batch is kept

  proto::RowRequest about;
  about.set_batch(8);
  about.set_ids(2);
  REQUIRE_FALSE(refusal(servers, read_path, about, {.ids = {3, 9}}));
  CHECK(push(1, {}, 7, {.floats = {1, 2, 3, 4}}) == Code::conflict);
  CHECK(push(1, {}, 8, {.floats = {1, 2}}) == Code::invalid);
  CHECK(push(1, {2}, 8, {.ids = {3, 9}, .floats = {1, 2, 3, 4}}) == Code::invalid);
  CHECK_FALSE(push(1, {}, 8, {.floats = {1, 2, 3, 4}}));
  CHECK_FALSE(push(1, {}, 8, {.floats = {1, 2, 3, 4}}));  // sent again, as its answer was lost
  CHECK(servers.of(0).version() == 1);
  CHECK(push(2, {}, 8, {.floats = {1, 2, 3, 4}}) == Code::conflict);  // of the same batch
}

TEST_CASE("an address that is taken is refused with a reason") {
  RowServers servers(small(Mode::sync));
  const auto second = RowServer::start({.listen = address_of(servers), .token = row_token},
                                       store_of(small(Mode::sync)));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::conflict);
}

}  // namespace trainyard::runtime
