// Who makes a gRPC call, said in its metadata, so that it is known before any message is read: a
// task to the server, a member of a gang to its peers.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/task.h"

namespace trainyard {

struct CallToken {
  TaskKey task;
  std::string token;
};

// Before the call is started.
void attach_token(grpc::ClientContext& call, const CallToken& by);
void attach_token(grpc::ClientContext& call, const std::string& gang_token);

// `invalid` where it does not say which task it is of. The token may be any.
Result<CallToken> read_call_token(const grpc::ServerContextBase& call);
// In constant time.
bool has_gang_token(const grpc::ServerContextBase& call, std::string_view token);
bool has_gang_token(const grpc::ServerContextBase& call);  // whichever

// Takes as long whatever they have in common.
bool is_same_token(std::string_view one, std::string_view other);

// "<job>/<attempt>/worker/0", as to_string() writes it.
Result<TaskKey> parse_task_key(std::string_view text);

// What a call without a right token is told.
grpc::Status unauthenticated(const std::string& message);

}  // namespace trainyard
