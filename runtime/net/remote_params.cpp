// Connecting to every ps the best way there is, and ending in good order.
#include "runtime/net/remote_params.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/chunk_plan.h"
#include "runtime/net/channel_options.h"
#include "runtime/net/control_calls.h"
#include "runtime/net/frame.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/remote_ps.h"
#include "runtime/net/snapshot_calls.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"
#include "schemas/wire/grpc_status.h"
#include "schemas/wire/spec_names.h"

namespace trainyard::runtime {
namespace {

using std::chrono::milliseconds, std::chrono::seconds, std::chrono::system_clock;

constexpr char kPushPull[] = "/trainyard.proto.Params/PushPull";
constexpr milliseconds kLookUp{100};  // between looks at the stop token
constexpr seconds kStallWarning{30};
constexpr seconds kCloseLimit{1};

void close(grpc::CompletionQueue& queue) {
  queue.Shutdown();
  void* tag = nullptr;
  bool good = false;
  while (queue.Next(&tag, &good)) {
  }
}

}  // namespace

Result<std::unique_ptr<RemoteParams>> RemoteParams::connect(RemoteOptions options) {
  std::unique_ptr<RemoteParams> params(new RemoteParams(std::move(options)));
  for (const auto& ps : params->ps_) TRY(params->connect_to(*ps));
  for (const auto& ps : params->ps_) {
    if (!ps->lane) TRY(params->open_stream(*ps));
  }
  if (params->options_.wire != Wire::float32) TRY(params->make_encoder());
  params->usable_ = true;
  return params;
}

RemoteParams::RemoteParams(RemoteOptions options)
    : options_(std::move(options)),
      process_(std::chrono::duration_cast<std::chrono::microseconds>(
                   system_clock::now().time_since_epoch())
                   .count()) {
  const auto count = static_cast<std::int64_t>(options_.ps.size());
  if (options_.shares.empty()) options_.shares = plan_shares(options_.arena_elements, count);
  ENSURE(options_.shares.size() == options_.ps.size());
  for (std::size_t i = 0; i < options_.ps.size(); ++i) {
    auto& ps = ps_.emplace_back(std::make_unique<Ps>());
    ps->address = options_.ps[i];
    ps->index = static_cast<std::int64_t>(i);
    ps->share = options_.shares[i];
  }
}

RemoteParams::~RemoteParams() {
  if (usable_) close_streams();
  for (const auto& ps : ps_) ps->context.TryCancel();
  close(queue_);
}

proto::Caller RemoteParams::caller() const {
  proto::Caller caller;
  caller.set_token(options_.token);
  caller.set_rank(options_.rank);
  return caller;
}

Status RemoteParams::connect_to(Ps& ps) {
  const std::int64_t floats =
      options_.parts * ps.share.elements() * (options_.wire == Wire::onebit ? 2 : 1);
  const grpc::ChannelArguments arguments = channel_arguments(floats * float_bytes);
  const auto credentials = grpc::InsecureChannelCredentials();
  const auto control = grpc::CreateCustomChannel(ps.address, credentials, arguments);
  ps.control = proto::Params::NewStub(control);

  const auto status = describe_ps(*ps.control, caller(), options_.connect_limit, options_.stop);
  if (!status.has_value()) return ps.explain(status.error());
  if (status->elements() != ps.share.elements()) {
    return ps.explain(conflict("holds " + std::to_string(status->elements()) + " floats, not " +
                               std::to_string(ps.share.elements())));
  }
  if (status->encoding() != gradient_encoding(options_.wire)) {
    return ps.explain(conflict("takes gradients in " +
                               std::string(encoding_name(status->encoding())) + ", not " +
                               std::string(find_name(wire_names, options_.wire))));
  }
  ps.residual_leaves = status->residual_leaves();

  add_row_peer(ps.name(), ps.address, status->local_socket());
  using enum RemoteOptions::Transport;
  if (options_.transport == shared_memory && !status->shared_socket().empty()) {
    const Status shared = share_memory(ps, status->shared_socket());
    if (shared.has_value()) return ok();
    log_debug("no shared memory", {{"ps", ps.address}, {"message", shared.error().message}});
  }
  ps.local = options_.transport != tcp && answers_here(status->local_socket());
  const std::string address = ps.local ? local_socket_address(status->local_socket()) : ps.address;
  ps.data = grpc::CreateCustomChannel(address, credentials, arguments);
  return ok();
}

Status RemoteParams::share_memory(Ps& ps, const std::string& socket) {
  if (!arena_) {
    TRY_ASSIGN(arena_, SharedFloats::create(static_cast<std::size_t>(push_memory_floats(
                           options_.wire, options_.arena_elements, options_.parts))));
  }
  TRY_ASSIGN(ps.lane, SharedLane::connect(socket, ps.share.elements(), *arena_));
  return ok();
}

std::shared_ptr<AlignedBuffer> RemoteParams::gradient_buffer(std::size_t elements) {
  const bool in_place =
      options_.wire == Wire::float32 && arena_ && arena_->span().size() == elements;
  if (!in_place) return ParamsChannel::gradient_buffer(elements);
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

// With what the ps know of earlier residuals.
Status RemoteParams::make_encoder() {
  const std::int64_t floats =
      push_memory_floats(options_.wire, options_.arena_elements, options_.parts);
  encoder_ = std::make_unique<GradientEncoder>(
      GradientEncoder::Shape{.wire = options_.wire,
                             .arena_elements = options_.arena_elements,
                             .parts = options_.parts,
                             .gaps = options_.gaps},
      arena_ ? arena_->buffer() : AlignedBuffer(static_cast<std::size_t>(floats)));
  for (const auto& ps : ps_) {
    if (ps->residual_leaves == 0) continue;
    AlignedBuffer values(static_cast<std::size_t>(ps->share.elements()));
    for (std::int64_t part = 0; part < options_.parts; ++part) {
      const Status read = read_residual(*ps->control, caller(), options_.first_leaf + part,
                                        options_.exchange_limit, values.span());
      // A rank that had pushed already was lost with what it knew: async goes on without.
      if (!read.has_value() && read.error().code == Code::not_found) continue;
      if (!read.has_value()) return ps->explain(read.error());
      scatter({.pieces = {std::as_bytes(values.span())}, .owner = nullptr}, ps->share,
              encoder_->residual(part));
    }
  }
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
    if (completed->ps == &ps && completed->operation == Ps::Operation::ended) break;
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
  *message.mutable_caller() = caller();
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
  std::optional<Error> first;
  for (const auto& ps : ps_) {
    const Status said = say_finished(*ps->control, caller());
    if (!said.has_value() && !first) first = ps->explain(said.error());
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
  if (options_.wire != Wire::float32) {
    words += ", in " + std::string(find_name(wire_names, options_.wire));
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
