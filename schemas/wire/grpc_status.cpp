#include "schemas/wire/grpc_status.h"

#include "schemas/base/utf8.h"

namespace trainyard {

grpc::Status to_grpc(const Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case Code::invalid: return grpc::StatusCode::INVALID_ARGUMENT;
      case Code::not_found: return grpc::StatusCode::NOT_FOUND;
      case Code::conflict: return grpc::StatusCode::FAILED_PRECONDITION;
      case Code::unavailable: return grpc::StatusCode::UNAVAILABLE;
      case Code::internal: return grpc::StatusCode::INTERNAL;
    }
    return grpc::StatusCode::INTERNAL;
  }();
  return {code, to_valid_utf8(error.message)};
}

Error from_grpc(const grpc::Status& status) {
  ENSURE(!status.ok());
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED: return invalid(status.error_message());
    case grpc::StatusCode::NOT_FOUND: return not_found(status.error_message());
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION: return conflict(status.error_message());
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNAVAILABLE: return unavailable(status.error_message());
    default: return internal(status.error_message());
  }
}

}  // namespace trainyard
