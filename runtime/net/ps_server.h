// The server of a ps. One thread polls gRPC's completion queue, another the packets of workers that
// share memory with it, a third the stream sockets of all others; whichever has a frame sums,
// applies and answers under one lock, so that a small step needs no change of threads.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/aggregator.h"
#include "runtime/net/gated_call.h"
#include "runtime/net/ps_caller.h"
#include "runtime/net/row_frame.h"
#include "runtime/net/row_lookups.h"
#include "runtime/net/shared_buffers.h"
#include "runtime/net/snapshot_desk.h"
#include "schemas/proto/params.grpc.pb.h"

namespace trainyard::runtime {

class PushStream;
class SharedPort;
class StreamCaller;
class StreamPort;

// All but the stream of pushes are GatedCalls.
using ParamsControl =
    proto::Params::WithGenericMethod_Describe<proto::Params::WithGenericMethod_Snapshot<
        proto::Params::WithGenericMethod_Residual<proto::Params::WithGenericMethod_ReadSnapshot<
            proto::Params::WithGenericMethod_Finish<proto::Params::Service>>>>>;
using ParamsService = proto::Params::WithRawMethod_PushPull<
    proto::Params::WithGenericMethod_ReadRows<proto::Params::WithGenericMethod_PushRows<
        proto::Params::WithGenericMethod_Inherit<ParamsControl>>>>;

struct PsServerOptions {
  std::string listen;   // "10.0.0.1:20001"; port 0 takes a free one
  int stream_port = 0;  // at the same host, for stream sockets; 0 takes a free one
  std::string token;    // of the attempt: calls that carry another are refused
  // A ps must not live for ever without anybody to serve: how long it waits for the first worker,
  // and for one to come back when all are gone.
  std::chrono::milliseconds first_caller_limit = std::chrono::minutes(2);
  std::chrono::milliseconds no_caller_limit = std::chrono::seconds(30);
  // Sync without heirs: how long a step waits for a worker that is gone and may come back. 0 = it
  // does not: then no step can be made any more. Async: how long a ps that was started again waits
  // for a worker to tell where it is.
  std::chrono::milliseconds return_limit = std::chrono::milliseconds(0);
  // In async the last step can be made before a slow starter has connected: how long the ps stays
  // to tell it so after Finish.
  std::chrono::milliseconds late_caller_limit = std::chrono::minutes(1);
};

class PsServer {
 public:
  struct Parts {
    Aggregator::Rules rules;
    // Of a worker's arena; empty = workers on this host share no memory with the ps.
    Share share;
    std::int64_t arena_elements = 0;
    ParameterShard shard;
    Aggregator::Start start;
    SnapshotFiles files;
    std::optional<RowTable> rows{};  // its share of the embedding table, where the model has one
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

  // With backup workers, on ps 0: how many contributions came too late, by rank. Else empty. Not
  // while it serves.
  [[nodiscard]] std::vector<std::int64_t> dropped();

 private:
  friend class PushStream;
  friend class SharedPort;
  friend class StreamCaller;
  friend class StreamPort;
  using Clock = std::chrono::steady_clock;
  using CallerNumber = std::pair<std::int64_t, std::int64_t>;  // of process and connection

  PsServer(PsServerOptions options, Parts parts);
  Status listen();
  void offer_stream();
  void offer_control();
  void offer_rows();
  void offer_calls();
  void share_memory();
  Status offer_lanes();
  [[nodiscard]] Error why_not_listening() const;
  [[nodiscard]] bool over() const;
  bool handle_next(std::chrono::milliseconds wait);  // false when nothing happened
  void drain();

  // To what comes late by an earlier connection of a rank, or of an earlier process of it.
  static Error superseded() { return conflict("another connection of this task has come"); }
  Status check_token(const std::string& token) const;
  // OK for one of the gang.
  [[nodiscard]] grpc::Status check_caller(const grpc::ServerContextBase& call) const;
  // A ps that is back may learn by it that training is over (Caller.seen).
  Result<proto::PsStatus> describe(const proto::Caller& caller);
  Result<proto::PsStatus> finish(const proto::Caller& caller);
  Result<proto::ResidualReply> residual(const proto::ResidualRequest& request) const;
  Result<proto::SnapshotWeights> weights(const proto::SnapshotRequest& request) const;
  Status inherit(const grpc::ByteBuffer& request);
  Status check_rows_caller(const proto::RowFrame& header) const;
  Result<grpc::ByteBuffer> read_rows(const grpc::ByteBuffer& request);
  Result<grpc::ByteBuffer> stage_rows(const grpc::ByteBuffer& request);
  Result<SparseRows> bags_of(const RowMessage& message) const;
  Result<std::vector<RowGradients>> looked_up_parts(RowMessage& message);
  void snapshot(const proto::SnapshotRequest& request,
                std::function<void(Result<proto::SnapshotReply>)> reply);

  // From PushStream and the ports, under the lock. The error of take() ends the caller's side; that
  // of admit() is known before a payload is.
  void opened(std::shared_ptr<PsCaller> caller);
  static Status check_counts(const proto::PushFrame& header);
  Status check_encodings(const proto::PushFrame& header) const;
  Status admit(PsCaller& caller, const proto::PushFrame& header);
  Status take(PsCaller& caller, const proto::PushFrame& header, Payload payload,
              Aggregator::Reply reply);
  // A push whose gradient is not whole yet.
  Status begin(PsCaller& caller, const proto::PushFrame& header, Payload payload,
               Aggregator::TailSink sink = {});
  // Of a caller that has begun one: the elements of the share from `from` on are final.
  Status release(const PsCaller& caller, std::int64_t from);
  void closed(const PsCaller& caller, bool ended_well);
  // Of a ps that was started again alone.
  void take_clock(std::int64_t rank, const proto::ToldClock& told);
  void note_return();
  void give_up_missing();  // who has been away for too long

  PsServerOptions options_;
  std::mutex mutex_;  // guards all below but the gRPC objects: gRPC's events and packets take turns
  std::unique_ptr<SnapshotDesk> desk_;
  SharedBuffers shared_buffers_;
  Share share_;
  std::int64_t arena_elements_ = 0;
  const std::int64_t incarnation_;
  std::int64_t ranks_;
  Aggregator aggregator_;
  RowLookups lookups_;
  bool pools_rows_;    // as sums: what async may do
  bool is_returning_;  // and does not serve yet: aggregator_ waits for clocks
  std::string local_socket_;
  std::string shared_socket_;  // empty: not offered
  int port_ = 0;
  ParamsService service_;
  grpc::AsyncGenericService generic_service_;
  std::map<std::string, GatedCall::Handle, std::less<>> handles_;  // by method
  GatedCall::Rules call_rules_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::map<const PsCaller*, std::shared_ptr<PsCaller>> callers_;
  std::map<std::int64_t, const PsCaller*> caller_of_rank_;   // the newest of each
  std::map<std::int64_t, CallerNumber> newest_caller_;       // by rank
  std::map<std::int64_t, Clock::time_point> missing_since_;  // ranks that may come back
  Clock::time_point lonely_since_ = Clock::now();            // meaningful while callers_ is empty
  bool had_callers_ = false;  // of the gang: who connected and said nothing is none
  bool finished_ = false;
  Clock::time_point end_by_;                 // once finished_
  bool accepting_ = true;                    // new calls
  bool queue_open_ = true;                   // operations may be started
  std::unique_ptr<SharedPort> shared_port_;  // last: their threads use all of the above
  std::unique_ptr<StreamPort> stream_port_;
};

}  // namespace trainyard::runtime
