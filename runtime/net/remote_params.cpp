// Frames go to all ps before any answer is waited for; answers are copied in as they come.
#include "runtime/net/remote_params.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/chunk_plan.h"
#include "runtime/net/channel_options.h"
#include "runtime/net/frame.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/shared_lane.h"
#include "runtime/net/snapshot_calls.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

using std::chrono::milliseconds, std::chrono::seconds, std::chrono::steady_clock,
    std::chrono::system_clock;

constexpr char kPushPull[] = "/trainyard.proto.Params/PushPull";
constexpr milliseconds kLookUp{100};  // between looks at the stop token
constexpr seconds kStallWarning{30};
constexpr seconds kCloseLimit{1};
constexpr seconds kFinishLimit{10};

enum class Operation { started, sent, received, half_closed, ended };

void close(grpc::CompletionQueue& queue) {
  queue.Shutdown();
  void* tag = nullptr;
  bool good = false;
  while (queue.Next(&tag, &good)) {
  }
}

}  // namespace

struct RemoteParams::Ps {
  struct Tag {
    Ps* ps;
    Operation operation;
  };

  std::string address;
  std::int64_t index = 0;
  Share share;
  std::unique_ptr<proto::Params::Stub> control;
  std::shared_ptr<grpc::Channel> data;
  bool local = false;              // data goes through the Unix socket
  std::optional<SharedLane> lane;  // data goes through shared memory: no channel, no stream
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  grpc::ByteBuffer incoming;
  grpc::Status end;          // of the stream, once it has ended
  std::int64_t version = 0;  // of the parameters last received
  Pulled pulled;
  Tag started{this, Operation::started};
  Tag sent{this, Operation::sent};
  Tag received{this, Operation::received};
  Tag half_closed{this, Operation::half_closed};
  Tag ended{this, Operation::ended};

  [[nodiscard]] std::string name() const {
    return "ps/" + std::to_string(index) + " at " + address;
  }
  void note(const proto::PullFrame& header) {
    version = header.version();
    pulled = {.version = header.version(),
              .rank_step = header.rank_step(),
              .sums = {.examples = header.examples(),
                       .loss_sum = header.loss_sum(),
                       .correct = header.correct(),
                       .staleness = header.staleness()},
              .asked_snapshot = header.asked_snapshot(),
              .times = {.apply = Seconds(header.apply_seconds())},
              .parameters = {}};
  }
  [[nodiscard]] Error explain(const Error& error) const {
    return {error.code, name() + ": " + error.message};
  }
};

struct RemoteParams::Completed {
  Ps* ps;
  Operation operation;
  bool good;
};

Result<std::unique_ptr<RemoteParams>> RemoteParams::connect(RemoteOptions options) {
  std::unique_ptr<RemoteParams> params(new RemoteParams(std::move(options)));
  for (const auto& ps : params->ps_) TRY(params->connect_to(*ps));
  for (const auto& ps : params->ps_) {
    if (!ps->lane) TRY(params->open_stream(*ps));
  }
  params->usable_ = true;
  return params;
}

RemoteParams::RemoteParams(RemoteOptions options) : options_(std::move(options)) {
  const auto count = static_cast<std::int64_t>(options_.ps.size());
  std::vector<Share> shares = plan_shares(options_.arena_elements, count);
  for (std::size_t i = 0; i < options_.ps.size(); ++i) {
    auto& ps = ps_.emplace_back(std::make_unique<Ps>());
    ps->address = options_.ps[i];
    ps->index = static_cast<std::int64_t>(i);
    ps->share = std::move(shares[i]);
  }
}

RemoteParams::~RemoteParams() {
  if (usable_) close_streams();
  for (const auto& ps : ps_) ps->context.TryCancel();
  close(queue_);
}

Status RemoteParams::connect_to(Ps& ps) {
  const grpc::ChannelArguments arguments = channel_arguments(ps.share.elements());
  const auto credentials = grpc::InsecureChannelCredentials();
  const auto control = grpc::CreateCustomChannel(ps.address, credentials, arguments);
  ps.control = proto::Params::NewStub(control);

  proto::Caller caller;
  caller.set_token(options_.token);
  caller.set_rank(options_.rank);
  proto::PsStatus status;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(system_clock::now() + options_.connect_limit);
  const std::stop_callback on_stop(options_.stop, [&context] { context.TryCancel(); });
  if (const auto answer = ps.control->Describe(&context, caller, &status); !answer.ok()) {
    return ps.explain(from_grpc(answer));
  }
  if (status.elements() != ps.share.elements()) {
    return ps.explain(conflict("holds " + std::to_string(status.elements()) + " floats, not " +
                               std::to_string(ps.share.elements())));
  }

  add_row_peer(ps.name(), ps.address, status.local_socket());
  using enum RemoteOptions::Transport;
  if (options_.transport == shared_memory && !status.shared_socket().empty()) {
    const Status shared = share_memory(ps, status.shared_socket());
    if (shared.has_value()) return ok();
    log_debug("no shared memory", {{"ps", ps.address}, {"message", shared.error().message}});
  }
  ps.local = options_.transport != tcp && answers_here(status.local_socket());
  const std::string address = ps.local ? local_socket_address(status.local_socket()) : ps.address;
  ps.data = grpc::CreateCustomChannel(address, credentials, arguments);
  return ok();
}

Status RemoteParams::share_memory(Ps& ps, const std::string& socket) {
  if (!arena_) {
    TRY_ASSIGN(arena_, SharedFloats::create(
                           static_cast<std::size_t>(options_.arena_elements * options_.parts)));
  }
  TRY_ASSIGN(ps.lane, SharedLane::connect(socket, ps.share.elements(), *arena_));
  return ok();
}

std::shared_ptr<AlignedBuffer> RemoteParams::gradient_buffer(std::size_t elements) {
  if (!arena_ || arena_->span().size() != elements) return ParamsChannel::gradient_buffer(elements);
  return std::make_shared<AlignedBuffer>(arena_->buffer());
}

Status RemoteParams::open_stream(Ps& ps) {
  grpc::GenericStub stub(ps.data);
  ps.stream = stub.PrepareCall(&ps.context, kPushPull, &queue_);
  ps.stream->StartCall(&ps.started);
  const auto deadline = system_clock::now() + options_.connect_limit;
  TRY_ASSIGN(const Completed completed, next_completion(deadline));
  if (!completed.good) return why_broken(ps);
  return ok();
}

Result<RemoteParams::Completed> RemoteParams::next_completion(WallClock::time_point deadline) {
  auto warn_at = system_clock::now() + kStallWarning;
  for (;;) {
    void* tag = nullptr;
    bool good = false;
    if (queue_.AsyncNext(&tag, &good, system_clock::now() + kLookUp) ==
        grpc::CompletionQueue::GOT_EVENT) {
      const auto* const of = static_cast<Ps::Tag*>(tag);
      return Completed{of->ps, of->operation, good};
    }
    if (options_.stop.stop_requested()) return unavailable("asked to stop");
    if (system_clock::now() > deadline) return unavailable("no answer from any ps in time");
    if (system_clock::now() > warn_at) {
      log_warning("waiting for parameters", {{"rank", options_.rank}});
      warn_at += kStallWarning;
    }
  }
}

Result<Pulled> RemoteParams::pull(std::int64_t at_least) {
  if (!usable_) return unavailable("the streams to the ps are closed");
  for (const auto& ps : ps_) {
    proto::PushFrame header;
    header.set_step(at_least);
    TRY(send(*ps, header, {}));
  }
  return receive_all();
}

Result<Pulled> RemoteParams::push_pull(const Contribution& contribution) {
  if (!usable_) return unavailable("the streams to the ps are closed");
  ENSURE(contribution.sums.examples > 0);
  if (arena_ && arena_->span().data() != contribution.gradient->data()) {
    std::ranges::copy(contribution.gradient->span(), arena_->buffer().data());
  }
  const auto start = steady_clock::now();
  for (const auto& ps : ps_) {
    proto::PushFrame header;
    header.set_step(contribution.step);
    header.set_base_version(ps->version);
    header.set_examples(contribution.sums.examples);
    header.set_loss_sum(contribution.sums.loss_sum);
    header.set_correct(contribution.sums.correct);
    header.set_snapshot_step(contribution.snapshot_step);
    Payload payload = payload_of(contribution.gradient->span(), options_.arena_elements, ps->share);
    payload.owner = contribution.gradient;
    TRY(send(*ps, header, payload));
  }
  const Seconds push = steady_clock::now() - start;
  TRY_ASSIGN(Pulled pulled, receive_all());
  pulled.times.push = push;
  return pulled;
}

Status RemoteParams::send(Ps& ps, proto::PushFrame& header, const Payload& payload) {
  header.set_token(options_.token);
  header.set_rank(options_.rank);
  if (ps.lane) {
    const Status sent = ps.lane->send(header);
    usable_ = usable_ && sent.has_value();
    if (!sent.has_value()) return ps.explain(sent.error());
    return ok();
  }
  ps.stream->Write(encode_frame(header, payload), &ps.sent);
  ps.stream->Read(&ps.incoming, &ps.received);
  return ok();
}

std::size_t RemoteParams::stream_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ps_, [](const auto& ps) { return !ps->lane; }));
}

// Made when it is first needed: one ps in shared memory needs none.
std::span<float> RemoteParams::assembled() {
  const auto elements = static_cast<std::size_t>(options_.arena_elements);
  if (assembled_.size() != elements) assembled_ = AlignedBuffer(elements);
  return assembled_.span();
}

Result<Pulled> RemoteParams::receive_all() {
  usable_ = false;  // until all is well again
  scattering_ = {};
  const auto deadline = system_clock::now() + options_.exchange_limit;
  // gRPC moves only while somebody waits on its queue; packets come by themselves.
  for (std::size_t outstanding = 2 * stream_count(); outstanding > 0; --outstanding) {
    TRY_ASSIGN(const Completed completed, next_completion(deadline));
    if (!completed.good) return why_broken(*completed.ps);
    if (completed.operation == Operation::received) TRY(receive(*completed.ps));
  }
  for (const auto& ps : ps_) {
    if (ps->lane) TRY(receive_shared(*ps, deadline));
  }
  usable_ = true;
  Pulled pulled = ps_.front()->pulled;
  for (const auto& ps : ps_) {
    pulled.asked_snapshot = std::max(pulled.asked_snapshot, ps->pulled.asked_snapshot);
    pulled.times.apply = std::max(pulled.times.apply, ps->pulled.times.apply);
  }
  pulled.times.pull = scattering_;
  return pulled;
}

// Into the arena, from where the network left them.
std::span<const float> RemoteParams::assemble(const Ps& ps, const Payload& payload) {
  const auto start = steady_clock::now();
  scatter(payload, ps.share, assembled());
  scattering_ += steady_clock::now() - start;
  return assembled();
}

Status RemoteParams::receive(Ps& ps) {
  auto frame = decode_pull(ps.incoming);
  ps.incoming.Clear();
  if (!frame.has_value()) return ps.explain(frame.error());
  const auto bytes = ps.share.elements() * static_cast<std::int64_t>(sizeof(float));
  if (frame->payload.bytes() != bytes) {
    return ps.explain(invalid("answered with " + std::to_string(frame->payload.bytes()) +
                              " bytes, not " + std::to_string(bytes)));
  }
  ps.note(frame->header);
  ps.pulled.parameters = assemble(ps, frame->payload);
  return ok();
}

Status RemoteParams::receive_shared(Ps& ps, WallClock::time_point deadline) {
  auto received = ps.lane->receive(deadline, options_.stop);
  if (!received.has_value() && options_.stop.stop_requested()) return received.error();
  if (!received.has_value()) return ps.explain(received.error());
  ps.note(received->header);
  if (ps_.size() == 1) {
    ps.pulled.parameters = received->parameters;
    return ok();
  }
  const Payload payload{.pieces = {std::as_bytes(received->parameters)}, .owner = nullptr};
  ps.pulled.parameters = assemble(ps, payload);
  return ok();
}

Error RemoteParams::why_broken(Ps& ps) {
  ps.stream->Finish(&ps.end, &ps.ended);
  const auto deadline = system_clock::now() + kCloseLimit;
  for (;;) {
    const auto completed = next_completion(deadline);
    if (!completed.has_value()) {
      ps.context.TryCancel();
      return ps.explain(unavailable("the stream broke"));
    }
    if (completed->ps == &ps && completed->operation == Operation::ended) break;
  }
  if (ps.end.ok()) return ps.explain(unavailable("ended the stream"));
  return ps.explain(from_grpc(ps.end));
}

void RemoteParams::close_streams() {
  for (const auto& ps : ps_) {
    if (ps->lane) {
      ps->lane->say_goodbye();
      continue;
    }
    ps->stream->WritesDone(&ps->half_closed);
    ps->stream->Finish(&ps->end, &ps->ended);
  }
  const auto deadline = system_clock::now() + kCloseLimit;
  for (std::size_t outstanding = 2 * stream_count(); outstanding > 0; --outstanding) {
    if (!next_completion(deadline).has_value()) break;
  }
}

Result<std::vector<WrittenShard>> RemoteParams::snapshot(const SnapshotDesk::Request& request) {
  proto::SnapshotRequest message;
  message.mutable_caller()->set_token(options_.token);
  message.mutable_caller()->set_rank(options_.rank);
  message.set_step(request.step);
  for (const std::int64_t step : request.keep_steps) message.add_keep_steps(step);
  std::vector<proto::Params::Stub*> stubs;
  for (const auto& ps : ps_) stubs.push_back(ps->control.get());

  const auto answers = take_snapshots(stubs, message, 2 * options_.exchange_limit, options_.stop);
  std::vector<WrittenShard> shards;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_value()) return ps_[i]->explain(answers[i].error());
    shards.push_back(*answers[i]);
  }
  return shards;
}

Status RemoteParams::finish() {
  proto::Caller caller;
  caller.set_token(options_.token);
  caller.set_rank(options_.rank);
  std::optional<Error> first;
  for (const auto& ps : ps_) {
    grpc::ClientContext context;
    context.set_deadline(system_clock::now() + kFinishLimit);
    proto::PsStatus status;
    const grpc::Status answer = ps->control->Finish(&context, caller, &status);
    if (!answer.ok() && !first) first = ps->explain(from_grpc(answer));
  }
  if (first) return *first;
  return ok();
}

std::string RemoteParams::routes() const {
  std::string words;
  const std::vector<std::string> names = transports();
  for (std::size_t i = 0; i < names.size(); ++i) {
    words += (i == 0 ? "ps/" : ", ps/") + std::to_string(i) + " by " + names[i];
  }
  return words;
}

std::vector<std::string> RemoteParams::transports() const {
  std::vector<std::string> names;
  for (const auto& ps : ps_) {
    names.emplace_back(ps->lane ? "shared memory" : ps->local ? "unix" : "tcp");
  }
  return names;
}

}  // namespace trainyard::runtime
