// The short calls and downloads that agents make for a task. gRPC hands them over as soon as their
// metadata is there: who has no right token is sent away before a message of his is read.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include "scheduler/link/agent_server.h"
#include "scheduler/link/idle_watch.h"

namespace trainyard::scheduler {

// The task that the call is made for; else what it is to be told.
struct Admission {
  TaskKey task;
  grpc::Status refusal;  // OK: admitted
};
Admission admit_call(const grpc::ServerContextBase& call, const AgentCallbacks& callbacks);

class TaskCalls final : public grpc::CallbackGenericService {
 public:
  // Both outlive the server that this belongs to.
  TaskCalls(const AgentCallbacks& callbacks, IdleWatch& watch)
      : callbacks_(callbacks), watch_(watch) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  const AgentCallbacks& callbacks_;
  IdleWatch& watch_;
};

}  // namespace trainyard::scheduler
