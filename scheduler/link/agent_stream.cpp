#include "scheduler/link/agent_stream.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <chrono>
#include <utility>
#include <vector>

#include "schemas/base/log.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/grpc_status.h"
#include "schemas/wire/report_check.h"

namespace trainyard::scheduler {
namespace {

std::string words_of(const AgentStart& start) {
  return start.agent.text + " (epoch " + std::to_string(start.epoch) + ", instance " +
         start.instance + ")";
}

// "ipv4:10.0.0.7:41234" without the port.
std::string address_of(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

Result<AgentReport> decode(grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer kept = bytes;  // shares what it has
  grpc::ProtoBufferReader look(&kept);
  TRY(check_field_count(*proto::AgentReport::descriptor(), look));
  proto::AgentReport message;
  const grpc::Status parsed =
      grpc::SerializationTraits<proto::AgentReport>::Deserialize(&bytes, &message);
  if (!parsed.ok()) return invalid("the report is no message of AgentReport");
  return from_proto(message);
}

}  // namespace

// --- ConnectedAgents ----------------------------------------------------------------------------

void ConnectedAgents::adopt(const AgentStart& agent, std::shared_ptr<AgentStream> stream) {
  std::shared_ptr<AgentStream> older;
  {
    const std::lock_guard lock(mutex_);
    older = std::exchange(streams_[agent], std::move(stream));
  }
  if (!older) return;
  older->end({grpc::StatusCode::ABORTED, "a newer stream of this agent was opened"},
             AgentStream::Ending::at_once);
}

void ConnectedAgents::forget(const AgentStart& agent, const AgentStream* stream) {
  std::shared_ptr<AgentStream> gone;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(agent);
  if (found == streams_.end() || found->second.get() != stream) return;
  gone = std::move(found->second);
  streams_.erase(found);
}

std::shared_ptr<AgentStream> ConnectedAgents::find(const AgentStart& agent) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(agent);
  return found == streams_.end() ? nullptr : found->second;
}

void ConnectedAgents::end_all(const grpc::Status& status) {
  std::vector<std::shared_ptr<AgentStream>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [agent, stream] : streams_) all.push_back(stream);
  }
  for (const auto& stream : all) stream->end(status);
}

// --- AgentStream --------------------------------------------------------------------------------

AgentStream::AgentStream(grpc::CallbackServerContext& context, ConnectedAgents& agents,
                         IdleWatch& watch, const OnReport& on_report)
    : context_(context),
      agents_(agents),
      watched_(std::in_place, watch, context),
      on_report_(on_report) {}

AgentStream* AgentStream::start(grpc::CallbackServerContext& context, ConnectedAgents& agents,
                                IdleWatch& watch, const OnReport& on_report) {
  const std::shared_ptr<AgentStream> stream(new AgentStream(context, agents, watch, on_report));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

Status AgentStream::take_in() {
  const auto bytes = static_cast<std::int64_t>(incoming_.Length());
  TRY_ASSIGN(AgentReport report, decode(incoming_));
  const AgentStart sender{report.agent, report.instance, report.epoch};
  if (agent_.agent.empty()) {
    agent_ = sender;
    agents_.adopt(agent_, self_);
  } else if (sender != agent_) {
    return invalid("agent: this stream is of " + words_of(agent_) + ", the report of " +
                   words_of(sender));
  }
  // Whoever lets go of it last lets the next report in.
  std::shared_ptr<void> taken(this, [self = self_](void*) { self->read_on(); });
  on_report_({std::move(report), address_of(context_.peer()), bytes, std::move(taken)});
  return ok();
}

void AgentStream::read_on() {
  const std::lock_guard lock(mutex_);
  if (!ending_) StartRead(&incoming_);
}

void AgentStream::OnReadDone(bool ok) {
  if (!ok) return end(grpc::Status::OK);
  watched_->moved();
  if (const Status status = take_in(); !status) {
    if (const auto left_out = agents_.refusal_lines().take(std::chrono::steady_clock::now())) {
      log_warning("report_refused", {{"agent", agent_.agent.text},
                                     {"peer", context_.peer()},
                                     {"why", status.error().message},
                                     {"left_out", *left_out}});
    }
    end(to_grpc(status.error()));
  }
}

void AgentStream::send(proto::Assignment assignment) {
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  unsent_ = std::move(assignment);
  if (!writing_) write_next();
}

void AgentStream::write_next() {
  bool owned = false;
  const proto::Assignment assignment = *std::exchange(unsent_, std::nullopt);
  outgoing_.Clear();
  grpc::SerializationTraits<proto::Assignment>::Serialize(assignment, &outgoing_, &owned);
  writing_ = true;
  StartWrite(&outgoing_);
}

void AgentStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (ending_) return Finish(*ending_);
  if (!ok) {
    ending_ = grpc::Status::CANCELLED;
    return Finish(*ending_);
  }
  if (unsent_) write_next();
}

void AgentStream::end(const grpc::Status& status, Ending ending) {
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  ending_ = status;
  if (!writing_) return Finish(status);
  if (ending == Ending::at_once) context_.TryCancel();  // OnWriteDone finishes either way
}

void AgentStream::OnCancel() { end(grpc::Status::CANCELLED); }

void AgentStream::OnDone() {
  watched_.reset();
  if (!agent_.agent.empty()) agents_.forget(agent_, this);
  const std::shared_ptr<AgentStream> last = std::move(self_);
}

}  // namespace trainyard::scheduler
