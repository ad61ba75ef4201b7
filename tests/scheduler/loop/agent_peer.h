// An agent as the server meets it: a real gRPC client that shows whole states. It runs nothing; the
// test says what its tasks do.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/types/agent.h"

namespace trainyard::scheduler {

inline bool is_told_to_stop(const WantedTask& task) { return task.stop == StopOrder::stop; }

class AgentPeer {
 public:
  // Opens the stream. `epoch` grows with each start of an agent.
  AgentPeer(const std::string& address, const std::string& name, std::int64_t epoch = 1);
  ~AgentPeer();

  AgentReport& state() { return state_; }  // what the next report shows
  bool report();                           // false when the stream is over
  std::optional<Assignment> next();        // nothing when the stream is over
  grpc::Status finish();

  // Reports until an assignment satisfies `wanted`, applying each one: what is wanted and not there
  // starts.
  template <class Wanted>
  Assignment until(Wanted wanted) {
    while (true) {
      const auto assignment = next();
      if (!assignment) throw std::runtime_error("the stream ended");
      state_.generation = assignment->generation;
      if (wanted(*assignment)) return *assignment;
    }
  }

  // One task of the assignment as this agent has it; made on first use.
  TaskReport& task(const WantedTask& wanted);

  struct Piece {
    TaskKey task;
    std::string token;
    std::int64_t offset = 0;
    std::string data;
  };
  struct LogAnswer {
    grpc::Status status;
    std::int64_t end = 0;
  };
  LogAnswer append_log(const Piece& piece);

  struct FileAnswer {
    grpc::Status status;
    std::int64_t bytes = 0;
    bool complete = false;
  };
  FileAnswer find(const WantedTask& by, const std::string& job, const std::string& sha256);
  // In pieces of 1000 bytes; `piece.data` is the file from `piece.offset` on, perhaps not to its
  // end.
  FileAnswer put(const Piece& piece, const ArtifactFile& file);
  struct Fetched {
    grpc::Status status;
    std::string content;
  };
  Fetched get(const WantedTask& by, const std::string& job, const std::string& sha256,
              std::int64_t offset);

 private:
  std::unique_ptr<proto::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<proto::AgentReport, proto::Assignment>> stream_;
  AgentReport state_;
};

}  // namespace trainyard::scheduler
