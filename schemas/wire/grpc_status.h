// Error <-> grpc::Status, one table both ways.
#pragma once

#include <grpcpp/support/status.h>

#include "schemas/base/result.h"

namespace trainyard {

grpc::Status to_grpc(const Error& error);
Error from_grpc(const grpc::Status& status);  // status must not be OK

}  // namespace trainyard
