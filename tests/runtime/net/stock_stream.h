// A ps as a stock protobuf client sees it, without anything of ours between.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schemas/wire/call_token.h"
#include "tests/runtime/net/gang.h"

namespace trainyard::runtime::test {

constexpr std::int64_t elements = 1000;
const GangSpec small_gang{.workers = 2, .max_steps = 3, .elements = elements};

// A stock protobuf client: what any language can write.
struct StockStream {
  explicit StockStream(const std::string& address)
      : stub(proto::Params::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    attach_token(context, "token");
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

}  // namespace trainyard::runtime::test
