// One worker's stream on a ps: reads a frame, has it answered, writes the answer, reads the next.
// At most one frame is in flight either way, so nothing queues.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "runtime/net/completion.h"
#include "runtime/net/ps_caller.h"
#include "runtime/net/ps_server.h"

namespace trainyard::runtime {

class PushStream : public PsCaller, public std::enable_shared_from_this<PushStream> {
 public:
  explicit PushStream(PsServer& server);

  // Waits for a caller; hands itself to the server when one is there.
  static void offer(PsServer& server);

 private:
  void connected(bool good);
  void ended();
  void read();
  void frame_arrived(bool good);
  void handle(const grpc::ByteBuffer& bytes);
  void reply(Result<Answer> answer);
  void frame_sent(bool good);
  void end(const grpc::Status& status);
  void operation_done();

  PsServer& server_;
  std::shared_ptr<PushStream> self_;  // until connected: nobody else holds it
  int operations_ = 0;                // that the completion queue still owes
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer incoming_;
  Completion connected_;
  Completion ended_;
  Completion arrived_;
  Completion sent_;
  Completion closed_;
};

}  // namespace trainyard::runtime
