#include "tests/agent/loop/server_double.h"

#include <grpcpp/server_builder.h>

#include <chrono>

#include "schemas/files/sha256.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

template <class Map>
typename Map::mapped_type value_of(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

}  // namespace

ServerDouble::ServerDouble() { listen(0); }

ServerDouble::~ServerDouble() { close(); }

std::string ServerDouble::address() const { return "127.0.0.1:" + std::to_string(port_); }

void ServerDouble::listen(int port) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(agent_message_bytes_max);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                           &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  ENSURE(server_ != nullptr);
}

void ServerDouble::close() {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void ServerDouble::open() { listen(port_); }

void ServerDouble::want(const WantedTask& task) {
  const std::lock_guard lock(mutex_);
  WantedTask wanted = task;
  wanted.events_stored = wanted_[task.task.key].events_stored;
  wanted_[task.task.key] = wanted;
  tokens_[task.task.key] = task.token;
  ++generation_;
  answer();
}

void ServerDouble::stop_wanting(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  wanted_.erase(key);
  ++generation_;
  answer();
}

void ServerDouble::set_answers(Answers answers) {
  const std::lock_guard lock(mutex_);
  answers_ = answers;
}

void ServerDouble::set_stop_after(Millis stop_after) {
  const std::lock_guard lock(mutex_);
  stop_after_ = stop_after;
}

void ServerDouble::refuse_deliveries(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(status);
}

void ServerDouble::refuse_agents(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  agent_refusal_ = std::move(status);
}

bool ServerDouble::wait_for_refusals(std::int64_t count) {
  return wait([&] { return agents_refused_ >= count; });
}

bool ServerDouble::wait(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, condition);
}

std::optional<TaskReport> ServerDouble::wait_for_task(
    const TaskKey& key, const std::function<bool(const TaskReport&)>& matches) {
  std::optional<TaskReport> seen;
  const bool matched = wait([&] {
    for (const TaskReport& task : report_.tasks) {
      if (task.key == key && matches(task)) seen = task;
    }
    return seen.has_value();
  });
  return matched ? seen : std::nullopt;
}

std::optional<TaskReport> ServerDouble::wait_for_end(const TaskKey& key) {
  return wait_for_task(key, [](const TaskReport& task) { return is_terminal(task.state); });
}

bool ServerDouble::wait_until_forgotten(const TaskKey& key) {
  return wait([&, reports = std::optional<std::int64_t>{}]() mutable {
    if (!reports) reports = reports_;  // one more report than those before the call
    if (reports_ == *reports) return false;
    return std::ranges::find(report_.tasks, key, &TaskReport::key) == report_.tasks.end();
  });
}

bool ServerDouble::wait_for_report(const std::function<bool(const AgentReport&)>& matches) {
  return wait([&] { return reports_ > 0 && matches(report_); });
}

bool ServerDouble::wait_for_log(const TaskKey& key, const std::string& text) {
  return wait([&] { return value_of(logs_, key).find(text) != std::string::npos; });
}

std::vector<RunEvent> ServerDouble::events_of(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  return value_of(events_, key);
}

std::string ServerDouble::log_of(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  return value_of(logs_, key);
}

std::string ServerDouble::artifact(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  return value_of(artifacts_, sha256);
}

void ServerDouble::put_artifact(const std::string& content) {
  const std::lock_guard lock(mutex_);
  artifacts_[sha256_hex(content)] = content;
}

void ServerDouble::put_part(const std::string& sha256, const std::string& beginning) {
  const std::lock_guard lock(mutex_);
  artifacts_[sha256] = beginning;
}

std::int64_t ServerDouble::bytes_received() const {
  const std::lock_guard lock(mutex_);
  return bytes_received_;
}

std::int64_t ServerDouble::bytes_sent() const {
  const std::lock_guard lock(mutex_);
  return bytes_sent_;
}

void ServerDouble::take(const AgentReport& report) {
  report_ = report;
  ++reports_;
  for (const TaskReport& task : report.tasks) {
    const auto wanted = wanted_.find(task.key);
    if (wanted == wanted_.end() || task.token != tokens_[task.key]) continue;
    for (const RunEvent& event : task.events) {
      if (event.offset >= wanted->second.events_stored) events_[task.key].push_back(event);
    }
    wanted->second.events_stored = std::max(wanted->second.events_stored, task.events_end);
  }
  changed_.notify_all();
}

void ServerDouble::answer() {
  if (stream_ == nullptr || answers_ == Answers::none) return;
  Assignment assignment{.agent = report_.agent,
                        .instance = report_.instance,
                        .epoch = report_.epoch,
                        .generation = generation_,
                        .answers = report_.number,
                        .stop_after = stop_after_,
                        .tasks = {}};
  for (const auto& [key, task] : wanted_) assignment.tasks.push_back(task);
  stream_->Write(to_proto(assignment));
}

grpc::Status ServerDouble::Converge(grpc::ServerContext*, Stream* stream) {
  proto::AgentReport message;
  while (stream->Read(&message)) {
    const Result<AgentReport> report = from_proto(message);
    if (!report) return to_grpc(report.error());
    const std::lock_guard lock(mutex_);
    if (!agent_refusal_.ok()) {
      ++agents_refused_;
      changed_.notify_all();
      return agent_refusal_;
    }
    stream_ = stream;
    take(*report);
    answer();
  }
  const std::lock_guard lock(mutex_);
  if (stream_ == stream) stream_ = nullptr;
  return grpc::Status::OK;
}

grpc::Status ServerDouble::check_token(const grpc::ServerContext& call) {
  const auto by = read_call_token(call);
  if (!by || value_of(tokens_, by->task) != by->token) return unauthenticated("wrong token");
  return grpc::Status::OK;
}

grpc::Status ServerDouble::AppendLog(grpc::ServerContext* context, const proto::LogPiece* piece,
                                     proto::LogStored* stored) {
  const std::lock_guard lock(mutex_);
  if (!refusal_.ok()) return refusal_;
  if (grpc::Status status = check_token(*context); !status.ok()) return status;
  std::string& log = logs_[read_call_token(*context)->task];
  if (static_cast<std::size_t>(piece->offset()) <= log.size()) {
    log.replace(static_cast<std::size_t>(piece->offset()), piece->data().size(), piece->data());
  }
  stored->set_end(static_cast<std::int64_t>(log.size()));
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status ServerDouble::FindArtifact(grpc::ServerContext* context,
                                        const proto::ArtifactQuery* query,
                                        proto::ArtifactStatus* status) {
  const std::lock_guard lock(mutex_);
  if (grpc::Status refused = check_token(*context); !refused.ok()) return refused;
  const std::string stored = value_of(artifacts_, query->sha256());
  status->set_bytes(static_cast<std::int64_t>(stored.size()));
  status->set_complete(artifacts_.contains(query->sha256()) &&
                       sha256_hex(stored) == query->sha256());
  return grpc::Status::OK;
}

grpc::Status ServerDouble::PutArtifact(grpc::ServerContext* context,
                                       grpc::ServerReader<proto::ArtifactPiece>* reader,
                                       proto::ArtifactStatus* status) {
  proto::ArtifactPiece piece;
  std::string sha256;
  while (reader->Read(&piece)) {
    const std::lock_guard lock(mutex_);
    if (sha256.empty()) {
      if (!refusal_.ok()) return refusal_;
      if (grpc::Status refused = check_token(*context); !refused.ok()) {
        return refused;
      }
      sha256 = piece.file().sha256();
    }
    std::string& content = artifacts_[sha256];
    if (static_cast<std::size_t>(piece.offset()) != content.size()) {
      return to_grpc(invalid("not where the file ends"));
    }
    content += piece.data();
    bytes_received_ += static_cast<std::int64_t>(piece.data().size());
  }
  const std::lock_guard lock(mutex_);
  const std::string& content = artifacts_[sha256];
  if (sha256_hex(content) != sha256) return to_grpc(unavailable("not whole yet"));
  status->set_bytes(static_cast<std::int64_t>(content.size()));
  status->set_complete(true);
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status ServerDouble::GetArtifact(grpc::ServerContext* context,
                                       const proto::ArtifactQuery* query,
                                       grpc::ServerWriter<proto::ArtifactPiece>* writer) {
  {
    const std::lock_guard lock(mutex_);
    if (grpc::Status refused = check_token(*context); !refused.ok()) return refused;
  }
  const std::string content = artifact(query->sha256());
  if (content.empty()) return to_grpc(not_found("no such artifact"));
  constexpr std::size_t piece_bytes = 64 * 1024;
  for (auto offset = static_cast<std::size_t>(query->offset()); offset < content.size();
       offset += piece_bytes) {
    proto::ArtifactPiece piece;
    piece.set_offset(static_cast<std::int64_t>(offset));
    piece.set_data(content.substr(offset, piece_bytes));
    if (!writer->Write(piece)) break;
    const std::lock_guard lock(mutex_);
    bytes_sent_ += static_cast<std::int64_t>(piece.data().size());
  }
  return grpc::Status::OK;
}

}  // namespace trainyard::agent
