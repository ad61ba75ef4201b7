// One agent's stream: reads a report once the one before it was taken, writes at most one
// assignment at a time and keeps at most one more. And the table of who is connected.
#pragma once

#include <grpcpp/grpcpp.h>

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "scheduler/link/agent_server.h"
#include "scheduler/link/idle_watch.h"
#include "scheduler/link/line_budget.h"
#include "schemas/base/result.h"
#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/types/agent.h"

namespace trainyard::scheduler {

class AgentStream;

// One start of one agent. Two agents that were given the same name by mistake are told apart.
struct AgentStart {
  AgentId agent;
  std::string instance;
  std::int64_t epoch = 0;
  auto operator<=>(const AgentStart&) const = default;
};

// The current stream of each start of an agent; a newer one takes the place of the older.
class ConnectedAgents {
 public:
  void adopt(const AgentStart& agent, std::shared_ptr<AgentStream> stream);
  void forget(const AgentStart& agent,
              const AgentStream* stream);  // if it still is the current one
  [[nodiscard]] std::shared_ptr<AgentStream> find(const AgentStart& agent);
  void end_all(const grpc::Status& status);
  LineBudget& refusal_lines() { return refusal_lines_; }

 private:
  std::mutex mutex_;
  std::map<AgentStart, std::shared_ptr<AgentStream>> streams_;  // guarded by mutex_
  LineBudget refusal_lines_;
};

// In bytes, so that a report is looked at before memory is taken for what it says.
class AgentStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using OnReport = std::function<void(ArrivedReport)>;

  // Lives until gRPC is done with it. `agents` and `on_report` outlive the server that it belongs
  // to.
  static AgentStream* start(grpc::CallbackServerContext& context, ConnectedAgents& agents,
                            IdleWatch& watch, const OnReport& on_report);

  void send(proto::Assignment assignment);
  // `at_once`: a write that goes on is given up, and the peer may hear of that instead of `status`.
  enum class Ending { after_the_write, at_once };
  void end(const grpc::Status& status, Ending ending = Ending::after_the_write);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  AgentStream(grpc::CallbackServerContext& context, ConnectedAgents& agents, IdleWatch& watch,
              const OnReport& on_report);
  // An error: the stream cannot go on.
  Status take_in();
  void read_on();     // the report before is taken
  void write_next();  // under mutex_

  grpc::CallbackServerContext& context_;
  ConnectedAgents& agents_;
  // An agent reports each second. Not beyond OnDone, as context_.
  std::optional<IdleWatch::Call> watched_;
  const OnReport& on_report_;
  std::shared_ptr<AgentStream> self_;  // shared with whoever is just sending; reset in OnDone
  AgentStart agent_;                   // of the first report; read and written by reads alone
  grpc::ByteBuffer incoming_;

  std::mutex mutex_;
  grpc::ByteBuffer outgoing_;                // guarded by mutex_ while nothing is being written
  std::optional<proto::Assignment> unsent_;  // guarded by mutex_
  bool writing_ = false;                     // guarded by mutex_
  std::optional<grpc::Status>
      ending_;  // guarded by mutex_; set: no more reads and writes are begun
};

}  // namespace trainyard::scheduler
