// One ps as RemoteParams sees it: for its own source files.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/core/clock_at_ps.h"
#include "runtime/net/ps_caller.h"
#include "runtime/net/remote_params.h"
#include "runtime/net/shared_lane.h"
#include "runtime/net/stream_lane.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {

// Its gRPC stream, until that breaks.
struct RemoteParams::Call {
  enum class Operation { started, sent, received, half_closed, ended };
  struct Tag {
    Ps* ps;
    Call* call;
    Operation operation;
  };

  explicit Call(Ps* ps)
      : started{ps, this, Operation::started},
        sent{ps, this, Operation::sent},
        received{ps, this, Operation::received},
        half_closed{ps, this, Operation::half_closed},
        ended{ps, this, Operation::ended} {}

  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  grpc::ByteBuffer incoming;
  grpc::Status end;        // once it has ended
  std::size_t owed = 0;    // operations whose completion is to come
  bool is_ending = false;  // it broke, and was asked why
  bool is_former = false;  // another one has taken its place
  Tag started, sent, received, half_closed, ended;

  // Once it has ended.
  [[nodiscard]] Error why() const {
    return end.ok() ? unavailable("ended the stream") : from_grpc(end);
  }
};

struct RemoteParams::Ps {
  // What was sent last, until it is answered; kept where a ps may come back and be sent it again.
  struct Sent {
    proto::PushFrame header;
    Payload payload;
  };

  std::string address;
  std::int64_t index = 0;
  Share share;
  std::unique_ptr<proto::Params::Stub> control;
  std::shared_ptr<grpc::Channel> data;
  std::string route;                 // how data goes, for people
  std::optional<SharedLane> shared;  // data goes through shared memory: no channel, no stream
  std::optional<StreamLane> lane;    // data goes through a socket of ours: likewise
  AlignedBuffer landing;             // of parameters that come by it and are to be decoded
  std::unique_ptr<Call> call;        // data goes by gRPC
  std::int64_t version = 0;          // of the parameters last received
  proto::Encoding wanted = proto::FLOAT32;  // of the parameters that it is to answer with
  std::int64_t residual_leaves = 0;         // that it has residuals of
  bool begun = false;                       // it knows of a gradient that is computed still
  bool follows = false;    // its parameters may come after the header of the answer
  bool awaited = false;    // a frame was sent, its answer is to come
  bool holds = false;      // the answer was that it holds the push, and no more
  proto::MadeStep made{};  // with backup workers: how `version` was made
  Pulled pulled;
  // Where a ps may come back, or be there still (remote_return.cpp):
  std::int64_t incarnation = 0;  // 0: not known yet
  std::int64_t connection = 0;   // the number of the present one
  Sent last;
  bool tells = false;      // the next frame is the first of a connection
  int mends = 0;           // since its last answer
  std::int64_t taken = 0;  // pushes of the rank, at the start
  ClockAtPs clock;
  BatchSums unreported;  // of an answer in whose exchange it was lost

  [[nodiscard]] std::string name() const {
    return "ps/" + std::to_string(index) + " at " + address;
  }
  // Whether the version that it answered with is of the rank's contribution to it.
  [[nodiscard]] bool made_of(std::int64_t step, std::int64_t rank) const {
    return made.version() == step && std::ranges::binary_search(made.ranks(), rank);
  }
  [[nodiscard]] bool by_grpc() const { return !shared && !lane; }
  void note(const proto::PullFrame& header) {
    awaited = false;
    mends = 0;
    holds = header.held();
    if (holds) {
      pulled.sums = {};
      pulled.times = {};
      const proto::Inheritance& asked = header.inheritance();
      pulled.inheritance = {.step = asked.step(),
                            .ranks = {asked.ranks().begin(), asked.ranks().end()}};
      std::ranges::sort(pulled.inheritance.ranks);
      return;
    }
    made = header.made();
    version = header.version();
    pulled = {.version = header.version(),
              .oldest = header.version(),
              .newest = header.version(),
              .rank_step = header.rank_step(),
              .rank_step_max = header.rank_step(),
              .turn = header.turn(),
              .sums = {.examples = header.examples(),
                       .loss_sum = header.loss_sum(),
                       .correct = header.correct(),
                       .staleness = header.staleness(),
                       .stale = stale_of(header)},
              .asked_snapshot = header.asked_snapshot(),
              .made_snapshot = header.made().snapshot(),
              .traffic = {},
              .times = {.push = {}, .pull = {}, .apply = Seconds(header.apply_seconds())},
              .parameters = {}};
    pulled.lost_updates = header.lost_updates();
    pulled.sums += std::exchange(unreported, {});
    clock.note({.version = header.version(),
                .rank_step = header.rank_step(),
                .clock = header.clock(),
                .asked_snapshot = header.asked_snapshot(),
                .turn = header.turn()});
  }
  [[nodiscard]] Error explain(const Error& error) const {
    return {error.code, name() + ": " + error.message};
  }
};

struct RemoteParams::Completed {
  Ps* ps;
  Call::Operation operation;
  bool good;
};

}  // namespace trainyard::runtime
