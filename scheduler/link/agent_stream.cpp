#include "scheduler/link/agent_stream.h"

#include <utility>
#include <vector>

#include "schemas/wire/agent_codec.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::scheduler {
namespace {

std::string words_of(const AgentStart& start) {
  return start.agent.text + " (epoch " + std::to_string(start.epoch) + ", instance " +
         start.instance + ")";
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
                         const OnReport& on_report)
    : context_(context), agents_(agents), on_report_(on_report) {}

AgentStream* AgentStream::start(grpc::CallbackServerContext& context, ConnectedAgents& agents,
                                const OnReport& on_report) {
  const std::shared_ptr<AgentStream> stream(new AgentStream(context, agents, on_report));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

Status AgentStream::take_in(const proto::AgentReport& message) {
  TRY_ASSIGN(AgentReport report, from_proto(message));
  const AgentStart sender{report.agent, report.instance, report.epoch};
  if (agent_.agent.empty()) {
    agent_ = sender;
    agents_.adopt(agent_, self_);
  } else if (sender != agent_) {
    return invalid("agent: this stream is of " + words_of(agent_) + ", the report of " +
                   words_of(sender));
  }
  on_report_(std::move(report));
  return ok();
}

void AgentStream::OnReadDone(bool ok) {
  if (!ok) return end(grpc::Status::OK);
  if (const Status status = take_in(incoming_); !status) return end(to_grpc(status.error()));
  const std::lock_guard lock(mutex_);
  if (!ending_) StartRead(&incoming_);
}

void AgentStream::send(proto::Assignment assignment) {
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  unsent_ = std::move(assignment);
  if (!writing_) write_next();
}

void AgentStream::write_next() {
  outgoing_ = *std::exchange(unsent_, std::nullopt);
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
  if (!agent_.agent.empty()) agents_.forget(agent_, this);
  const std::shared_ptr<AgentStream> last = std::move(self_);
}

}  // namespace trainyard::scheduler
