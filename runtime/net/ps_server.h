// The gRPC server of a ps: one thread polls the completion queue, decodes, sums, applies and
// answers, so that parameters need no lock and a small step no change of threads.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "runtime/net/aggregator.h"
#include "runtime/net/snapshot_desk.h"
#include "schemas/proto/params.grpc.pb.h"

namespace trainyard::runtime {

class PushStream;

using ParamsService = proto::Params::WithRawMethod_PushPull<
    proto::Params::WithAsyncMethod_Describe<proto::Params::WithAsyncMethod_Snapshot<
        proto::Params::WithAsyncMethod_Finish<proto::Params::Service>>>>;

struct PsServerOptions {
  std::string listen;  // "0.0.0.0:20001"; port 0 takes a free one
  std::string token;   // of the attempt: calls that carry another are refused
  // A ps must not live for ever without anybody to serve: how long it waits for the first worker,
  // and for one to come back when all are gone.
  std::chrono::milliseconds first_caller_limit = std::chrono::minutes(2);
  std::chrono::milliseconds no_caller_limit = std::chrono::seconds(30);
  // In async the last step can be made before a slow starter has connected: how long the ps stays
  // to tell it so after Finish.
  std::chrono::milliseconds late_caller_limit = std::chrono::minutes(1);
};

class PsServer {
 public:
  struct Parts {
    Aggregator::Rules rules;
    ParameterShard shard;
    Aggregator::Start start;
    SnapshotFiles files;
  };

  // Listens when this returns. `unavailable` when the address cannot be bound.
  static Result<std::unique_ptr<PsServer>> start(PsServerOptions options, Parts parts);
  ~PsServer();
  PsServer(const PsServer&) = delete;
  PsServer& operator=(const PsServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

  enum class Ended { finished, stopped };
  // Serves until the chief has called Finish and every rank knows that training is over, or `stop`
  // is requested; `unavailable` when nobody is left to serve.
  Result<Ended> serve(const std::stop_token& stop);

 private:
  friend class PushStream;
  using Clock = std::chrono::steady_clock;

  PsServer(PsServerOptions options, Parts parts);
  Status listen();
  void offer_stream();
  void offer_control();
  [[nodiscard]] bool over() const;
  bool handle_next(std::chrono::milliseconds wait);  // false when nothing happened
  void drain();

  Status check_token(const std::string& token) const;
  Result<proto::PsStatus> describe(const proto::Caller& caller) const;
  Result<proto::PsStatus> finish(const proto::Caller& caller);
  void snapshot(const proto::SnapshotRequest& request,
                std::function<void(Result<proto::SnapshotReply>)> reply);

  // From PushStream.
  void opened(std::shared_ptr<PushStream> stream);
  void bound(const PushStream& stream, std::int64_t rank);
  void closed(const PushStream& stream);

  PsServerOptions options_;
  std::unique_ptr<SnapshotDesk> desk_;
  Aggregator aggregator_;
  std::string local_socket_;
  int port_ = 0;
  ParamsService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::map<const PushStream*, std::shared_ptr<PushStream>> streams_;
  std::map<std::int64_t, const PushStream*> stream_of_rank_;  // the newest of each
  Clock::time_point lonely_since_ = Clock::now();             // meaningful while streams_ is empty
  bool had_callers_ = false;
  bool finished_ = false;
  Clock::time_point end_by_;  // once finished_
  bool accepting_ = true;     // new calls
  bool queue_open_ = true;    // operations may be started
};

}  // namespace trainyard::runtime
