// The parameters on the ps of a job: a lane or a gRPC stream to each, all served by the thread that
// calls push_pull, which waits on them itself: no change of threads lies in a step. Only what moves
// while that thread computes is moved by others (GradientSender, ParameterReceiver).
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/net/gradient_encoder.h"
#include "runtime/net/gradient_sender.h"
#include "runtime/net/parameter_receiver.h"
#include "runtime/net/params_channel.h"
#include "runtime/net/row_calls.h"
#include "runtime/net/shared_floats.h"
#include "runtime/net/shared_lane.h"
#include "schemas/proto/params.grpc.pb.h"
#include "schemas/types/transport.h"

namespace trainyard::runtime {

struct RemoteOptions {
  std::vector<std::string> ps;  // "host:port", by index
  std::string token;
  std::int64_t rank = 0;
  std::int64_t arena_elements = 0;
  std::vector<Share> shares = {};  // of the arena, by ps; none = as plan_shares() divides it
  std::int64_t parts = 1;          // gradients in a contribution: the rank's sent_nodes()
  Wire wire = Wire::float32;
  std::int64_t first_leaf = 0;   // onebit: of the rank, for its residuals
  std::vector<Range> gaps = {};  // onebit: elements of the arena that belong to no variable
  std::int64_t row_width = 0;    // of the embedding table; 0: the model has none
  // Where the arena may be cut when a gradient is sent while it is computed, ascending from 0:
  // begins of variables. None: it is sent when it is whole.
  std::vector<std::int64_t> cuts = {};
  // Sync: a ps sums of a gradient what is final already, in shared memory, or what has come.
  bool summed_early = false;
  // push_pull() returns before all parameters are there: await_parameters() is called for them.
  bool parameters_follow = false;
  // To and from a ps with a smaller share: what a socket takes at once anyway is not worth a
  // thread.
  std::int64_t streamed_bytes_min = 1 << 20;
  bool backup_workers = false;  // sync: a step does not wait for every rank (BackupSteps)
  // Async: a ps that is gone is started again at the same address, and is waited for: connect_limit
  // long. The others go on.
  bool ps_return = false;
  // How long a ps is looked for whose connection was cut, where none comes back: the same process
  // of it is sent again what it has not answered, another one ends the exchange. Not where memory
  // is shared with it, nor with backup workers or a table. 0: a cut connection ends the exchange.
  std::chrono::milliseconds reconnect_limit{0};
  std::chrono::milliseconds connect_limit = std::chrono::seconds(60);
  std::chrono::milliseconds exchange_limit = std::chrono::minutes(10);  // of one push or pull
  // The best way to try: memory shared with a ps on this host, its Unix socket, TCP at a port of
  // its own, gRPC's stream at the ps' address. Where a way is not to be had the next is taken.
  using Transport = trainyard::Transport;
  Transport transport = Transport::shared_memory;
  std::stop_token stop;
};

class RemoteParams final : public ParamsChannel {
 public:
  // Waits for every ps to be up. `unavailable` names the one that did not come; `conflict` one that
  // refused the token, holds a share of another size or speaks another wire.
  static Result<std::unique_ptr<RemoteParams>> connect(RemoteOptions options);
  // Ends the streams in good order where the ps still answer.
  ~RemoteParams() override;
  RemoteParams(const RemoteParams&) = delete;
  RemoteParams& operator=(const RemoteParams&) = delete;

  std::shared_ptr<AlignedBuffer> gradient_buffer(std::size_t elements) override;
  Result<Pulled> pull(std::int64_t at_least) override;
  Result<Pulled> pull_exactly(std::int64_t version) override;
  Result<Pulled> pull_turn() override;
  Result<Pulled> pull_master(std::int64_t at_least) override;
  [[nodiscard]] bool can_begin_push() const override;
  bool begin_push(const Contribution& contribution) override;
  void release(std::int64_t from) override;
  Result<Pulled> push_pull(const Contribution& contribution) override;
  Status await_parameters(std::int64_t end) override;
  Status inherit(std::int64_t rank, const Contribution& contribution) override;
  Status read_rows(std::span<const std::int64_t> ids, std::span<float> rows) override;
  Status look_up_rows(std::int64_t part, std::span<const std::int64_t> ids,
                      std::span<float> rows) override;
  Status push_rows(std::int64_t step, std::vector<RowGradients> parts) override;
  [[nodiscard]] bool pools_rows() const override { return pools_rows_; }
  Result<PooledBags> look_up_bags(const BagView& batch) override;
  Status push_bags(std::int64_t step, std::span<const float> gradients) override;
  std::vector<std::int64_t> dropped() override;
  Result<std::vector<WrittenShard>> snapshot(const SnapshotDesk::Request& request) override;
  Result<AlignedBuffer> read_snapshot(std::int64_t step) override;
  Status finish() override;

  // "shared memory", "unix", "tcp" or "grpc" by ps.
  [[nodiscard]] std::vector<std::string> transports() const override;

 private:
  struct Ps;
  struct Call;
  using WallClock = std::chrono::system_clock;
  // Between looks at the stop token and the clock.
  static constexpr std::chrono::milliseconds kLookUp{100};
  // Before a ps that is back hears that training is over: others that live tell it themselves, and
  // what they had under way is not lost on it.
  static constexpr std::chrono::milliseconds kNewsAfter{1000};

  explicit RemoteParams(RemoteOptions options);
  Status connect_to(Ps& ps);
  [[nodiscard]] grpc::ChannelArguments arguments_for(const Ps& ps) const;
  Result<proto::PsStatus> describe(const Ps& ps, std::chrono::milliseconds limit) const;
  Status check(const Ps& ps, const proto::PsStatus& status) const;
  // What it says of itself, and the way to it that is chosen. Where it may come back it is waited
  // for, though it was there already.
  Result<proto::PsStatus> find(Ps& ps);
  void choose_way(Ps& ps, const proto::PsStatus& status);
  Status share_memory(Ps& ps, const std::string& socket);
  bool open_lane(Ps& ps, const proto::PsStatus& status);
  // Where there is a table: a ps that its calls go to.
  Status add_row_peer(std::string name, const std::string& address,
                      const std::string& local_socket);
  RowCalls& row_calls();
  void start_stream(Ps& ps);
  Status open_stream(Ps& ps);
  Status open_first_stream(Ps& ps);
  Status make_encoder();
  // `frame_of(ps)` says what to ask it for.
  template <typename FrameOf>
  Result<Pulled> pull_from_all(proto::Encoding wanted, FrameOf frame_of);
  void prepare(const Contribution& contribution);
  [[nodiscard]] Payload payload_for(const Ps& ps, const Contribution& contribution) const;
  [[nodiscard]] proto::PushFrame push_frame(Ps& ps, const Contribution& contribution) const;
  void sign(const Ps& ps, proto::PushFrame& header) const;
  [[nodiscard]] bool takes_pieces(const Ps& ps) const;
  void end_streaming();
  [[nodiscard]] bool goes_from_end(const Ps& ps) const;
  void begin_from_end(Ps& ps, const proto::PushFrame& header, const Contribution& contribution,
                      std::span<const std::int64_t> cuts, std::int64_t final_last);
  void send_from_end(Ps& ps, proto::PushFrame& header, const Contribution& contribution);
  [[nodiscard]] bool answers_in_pieces(const Ps& ps) const;
  [[nodiscard]] static bool is_arriving(const Ps& ps);
  void receive_the_rest();
  Status receive_all();  // of what receive_the_rest() has begun
  [[nodiscard]] Error why_closed() const;
  [[nodiscard]] Status wait_for(std::span<const ParameterReceiver::Need> needed);
  Status send(Ps& ps, proto::PushFrame& header, const Payload& payload);
  Result<Pulled> answer_to(const Contribution& contribution);
  Status receive_sent();  // the answers to all frames that were sent
  Status receive_answers();
  [[nodiscard]] Pulled together();
  // With backup workers and several ps.
  [[nodiscard]] bool asks_leader_first() const;
  Status wait_until_held();
  Result<Pulled> pull_leader_first(proto::PushFrame first, proto::Encoding wanted);
  Status tell_others(proto::Encoding wanted);
  Status receive_parameters();
  std::vector<std::span<std::byte>> places_for(Ps& ps);
  Status await_answers();
  Result<bool> watch_lanes(std::chrono::milliseconds limit);
  Status advance(Ps& ps);
  Status receive(Ps& ps);
  Status check_encoding(const Ps& ps, const proto::PullFrame& header) const;
  void take(Ps& ps, const Payload& parameters);
  void receive_shared(Ps& ps, const SharedLane::Received& received);
  Status receive_streamed(Ps& ps, const proto::PullFrame& header);
  std::span<float> assembled();
  [[nodiscard]] std::size_t owed() const;  // completions that gRPC's queue still owes
  [[nodiscard]] proto::Caller caller() const;

  // How long to wait: until when, and when to say that it takes long.
  struct Patience {
    WallClock::time_point deadline;
    WallClock::time_point warn_at;
  };
  [[nodiscard]] static Patience patience_for(std::chrono::milliseconds limit);
  // `unavailable` at the deadline and when asked to stop.
  Status keep_waiting(Patience& patience) const;

  // An operation of any stream. The second one waits, as keep_waiting() allows.
  struct Completed;
  std::optional<Completed> completion_until(WallClock::time_point time);
  Result<Completed> next_completion(std::chrono::milliseconds limit);
  Status complete(const Completed& completed);
  Error why_broken(Ps& ps);
  void close_streams();

  // Where a ps may come back, or be there still. What a way that is broken means: `error` again, or
  // that there is another, by which the frame was sent once more that is not answered.
  [[nodiscard]] bool may_mend(const Ps& ps) const;
  Status mend(Ps& ps, const Error& error);
  void forget_stream(Ps& ps);
  Status send_again(Ps& ps);
  static void ask_again(Ps& ps);
  void ask_why(Ps& ps);
  Status watch_answered();  // ps whose answer is there may be lost as well
  void tell_news(Ps& ps) const;
  void learn_clocks();
  void keep(Ps& ps, const proto::PushFrame& header, const Payload& payload) const;
  void tell_clock(Ps& ps, proto::PushFrame& header) const;

  RemoteOptions options_;
  const std::int64_t process_;  // when it began, in microseconds
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Ps>> ps_;
  std::vector<RawPeer> row_peers_;            // by ps, where there is a table
  std::optional<RowCalls> rows_;              // made by the first call
  bool pools_rows_ = true;                    // all ps do
  std::vector<RawPeer> heir_peers_;           // by ps: made by the first inherit()
  std::optional<SharedFloats> arena_;         // of what is pushed; once a ps shares memory
  std::unique_ptr<GradientEncoder> encoder_;  // where the wire is not float32
  AlignedBuffer assembled_;     // parameters of several ps, or that did not come by shared memory
  Seconds assembling_{};        // of the exchange under way
  Traffic traffic_;             // likewise
  bool tcp_is_hidden_ = false;  // of one ps, so of the others too: none is waited for in vain
  std::optional<std::int64_t> begun_step_;  // of a gradient that is still computed and on its way
  std::vector<std::int64_t> even_cuts_;     // made by the first send_from_end()
  std::vector<std::int64_t> begun_cuts_;    // made by the first begin_push() by a socket
  bool usable_ = false;                     // streams are open, and no exchange has failed
  std::optional<Error> failure_;            // of the exchange that failed
  WallClock::time_point watch_at_;          // when watch_answered() looks again
  WallClock::time_point news_at_;           // when it tells news
  bool mended_ = false;                     // in the exchange under way
  bool was_cut_ = false;                    // likewise, until it is told
  std::vector<std::unique_ptr<Call>> former_;    // streams that broke, for the queue to end
  bool arriving_ = false;                        // parameters of the last push_pull()
  std::unique_ptr<GradientSender> sender_;       // made by the first that streams; uses the lanes
  std::unique_ptr<ParameterReceiver> receiver_;  // likewise
};

}  // namespace trainyard::runtime
