// The other end of the agent's link: a real gRPC server that wants what a test tells it to want,
// answers reports as the scheduler does, and keeps what it is given.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

class ServerDouble final : public proto::AgentLink::Service {
 public:
  ServerDouble();  // listens on a port from the OS
  ~ServerDouble() override;

  [[nodiscard]] std::string address() const;

  // The port closes: connections are refused until `open`, which listens on the same port again.
  void close();
  void open();

  void want(const WantedTask& task);  // or change what is wanted of it
  void stop_wanting(const TaskKey& key);
  enum class Answers { all, none };
  void set_answers(Answers answers);  // none: reports are read and nothing is said
  void set_stop_after(Millis stop_after);
  void refuse_deliveries(grpc::Status status);  // OK: no more
  void refuse_agents(grpc::Status status);      // OK: no more
  bool wait_for_refusals(std::int64_t count);   // of agents

  // What has been shown last of a task; waits until `matches` it. Nothing once patience ends.
  std::optional<TaskReport> wait_for_task(const TaskKey& key,
                                          const std::function<bool(const TaskReport&)>& matches);
  std::optional<TaskReport> wait_for_end(const TaskKey& key);
  // Waits until a report does not show the task any more.
  bool wait_until_forgotten(const TaskKey& key);
  bool wait_for_report(const std::function<bool(const AgentReport&)>& matches);
  bool wait_for_log(const TaskKey& key, const std::string& text);

  // Stored so far, none twice.
  std::vector<RunEvent> events_of(const TaskKey& key);
  std::string log_of(const TaskKey& key);
  std::string artifact(const std::string& sha256);
  void put_artifact(const std::string& content);
  void put_part(const std::string& sha256, const std::string& beginning);
  std::int64_t bytes_received() const;  // of artifacts
  std::int64_t bytes_sent() const;

 private:
  using Stream = grpc::ServerReaderWriter<proto::Assignment, proto::AgentReport>;

  grpc::Status Converge(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status AppendLog(grpc::ServerContext* context, const proto::LogPiece* piece,
                         proto::LogStored* stored) override;
  grpc::Status FindArtifact(grpc::ServerContext* context, const proto::ArtifactQuery* query,
                            proto::ArtifactStatus* status) override;
  grpc::Status PutArtifact(grpc::ServerContext* context,
                           grpc::ServerReader<proto::ArtifactPiece>* reader,
                           proto::ArtifactStatus* status) override;
  grpc::Status GetArtifact(grpc::ServerContext* context, const proto::ArtifactQuery* query,
                           grpc::ServerWriter<proto::ArtifactPiece>* writer) override;

  void listen(int port);
  void take(const AgentReport& report);                       // under mutex_
  void answer();                                              // under mutex_
  bool wait(const std::function<bool()>& condition);          // condition runs under mutex_
  grpc::Status check_token(const grpc::ServerContext& call);  // under mutex_

  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Stream* stream_ = nullptr;
  AgentReport report_;
  std::int64_t reports_ = 0;
  std::int64_t generation_ = 0;
  std::map<TaskKey, WantedTask> wanted_;
  std::map<TaskKey, std::string> tokens_;
  std::map<TaskKey, std::vector<RunEvent>> events_;
  std::map<TaskKey, std::string> logs_;
  std::map<std::string, std::string> artifacts_;  // by sha256; also those not whole yet
  std::int64_t bytes_received_ = 0;
  std::int64_t bytes_sent_ = 0;
  Answers answers_ = Answers::all;
  Millis stop_after_ = seconds(60);
  grpc::Status refusal_;
  grpc::Status agent_refusal_;
  std::int64_t agents_refused_ = 0;
};

}  // namespace trainyard::agent
