// A ps among strangers: who carries no token is sent away before he has sent anything, holds
// nothing, and changes nothing for the gang.
#include <grpcpp/generic/generic_stub.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <deque>
#include <fstream>

#include "tests/environment.h"
#include "tests/runtime/net/stream_client.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

using namespace test;
using grpc::StatusCode;

// A call of a method of Params by who sends a message of so many bytes, or none, and does not end.
struct StrangersCall {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  grpc::Status status;
};

class Stranger {
 public:
  explicit Stranger(const std::string& address)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {}
  ~Stranger() { queue_.Shutdown(); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void call(const std::string& method, const std::string& token = "") {
    StrangersCall& call = calls_.emplace_back();
    call.context.set_deadline(std::chrono::system_clock::now() + patience);
    if (!token.empty()) attach_token(call.context, token);
    call.stream = stub_.PrepareCall(&call.context, "/trainyard.proto.Params/" + method, &queue_);
    call.stream->StartCall(nullptr);
    next();
  }
  void send(const grpc::ByteBuffer& message) {
    for (StrangersCall& call : calls_) call.stream->Write(message, nullptr);
    for (std::size_t i = 0; i < calls_.size(); ++i) next();
  }
  // What each of them was told.
  std::vector<StatusCode> told() {
    for (StrangersCall& call : calls_) call.stream->Finish(&call.status, nullptr);
    for (std::size_t i = 0; i < calls_.size(); ++i) next();
    std::vector<StatusCode> codes;
    for (const StrangersCall& call : calls_) codes.push_back(call.status.error_code());
    calls_.clear();
    return codes;
  }

 private:
  void next() {
    void* tag = nullptr;
    bool good = false;
    queue_.Next(&tag, &good);
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::deque<StrangersCall> calls_;
};

std::int64_t resident_bytes() {
  std::int64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("a call without a token is closed before a message of it is read [mend-A5]",
          "[strangers]") {
  GangSpec spec = small_gang;
  spec.row_width = 4;
  const Gang gang(spec);
  Stranger stranger(gang.addresses().front());
  for (const char* method : {"PushPull", "Describe", "Finish", "Snapshot", "Residual", "Inherit",
                             "ReadRows", "PushRows", "Nothing"}) {
    CAPTURE(method);
    stranger.call(method);
    CHECK(stranger.told() == std::vector{StatusCode::UNAUTHENTICATED});
    stranger.call(method, "of an older attempt");
    CHECK(stranger.told() == std::vector{StatusCode::FAILED_PRECONDITION});
  }
  stranger.call("Nothing", "token");
  CHECK(stranger.told() == std::vector{StatusCode::UNIMPLEMENTED});
}

TEST_CASE("a thousand calls for rows without a token take no memory [mend-A5]", "[strangers]") {
  GangSpec spec = small_gang;
  spec.row_width = 4;
  const Gang gang(spec);
  Stranger stranger(gang.addresses().front());
  const grpc::Slice slice(std::string(800'000, 'x'));
  const grpc::ByteBuffer message(&slice, 1);
  stranger.call("ReadRows");
  stranger.send(message);
  static_cast<void>(stranger.told());  // what the first call needs is there now
  const std::int64_t before = resident_bytes();

  for (int i = 0; i < 1000; ++i) stranger.call("ReadRows");
  stranger.send(message);

  if (!is_sanitized) CHECK(resident_bytes() - before < (std::int64_t{150} << 20));
  CHECK(stranger.told() == std::vector(1000, StatusCode::UNAUTHENTICATED));
}

TEST_CASE("a stranger who comes and goes is none of the gang's [mend-A5]", "[strangers]") {
  GangSpec spec = small_gang;
  spec.first_caller_limit = std::chrono::seconds(1);
  spec.no_caller_limit = std::chrono::milliseconds(0);
  Gang gang(spec);
  const std::string& address = gang.addresses().front();
  const proto::PsStatus status = describe(address);

  SECTION("by gRPC") {
    Stranger stranger(address);
    stranger.call("PushPull");
    static_cast<void>(stranger.told());
  }
  SECTION("by TCP") { static_cast<void>(knock(address, status, Door::tcp)); }
  SECTION("by a Unix socket") { static_cast<void>(knock(address, status, Door::unix_socket)); }
  SECTION("by the socket of shared memory") {
    static_cast<void>(PacketSocket::connect(status.shared_socket()));
  }

  // Not "all workers are gone": there was none yet, and the first may take its time.
  const auto ended = gang.ended(0);
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error().message == "no worker ever came");
}

TEST_CASE("silent connections keep no worker from its ps [mend-A5]", "[strangers]") {
  GangSpec spec = small_gang;
  spec.workers = 1;
  const Gang gang(spec);
  const std::string& address = gang.addresses().front();
  const proto::PsStatus status = describe(address);
  for (const Door door : doors) {  // of two processes of the one worker
    std::vector<StreamSocket> silent;
    for (int i = 0; i < 200; ++i) silent.push_back(knock(address, status, door));
    StreamClient client = worker(gang, 0, door);
    CHECK(client.exchange(pull_of(0)).has_value());
  }
}

}  // namespace trainyard::runtime
