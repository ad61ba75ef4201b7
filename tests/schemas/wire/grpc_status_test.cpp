#include "schemas/wire/grpc_status.h"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("an error over gRPC arrives as it was", "[wire]") {
  for (const Code code :
       {Code::invalid, Code::not_found, Code::conflict, Code::unavailable, Code::internal}) {
    const Error error{code, "job 7: why"};
    CHECK_FALSE(to_grpc(error).ok());
    CHECK(from_grpc(to_grpc(error)) == error);
  }
}

TEST_CASE("what gRPC itself reports has a code that says what to do", "[wire]") {
  const auto code_of = [](grpc::StatusCode code) { return from_grpc({code, "x"}).code; };
  CHECK(code_of(grpc::StatusCode::DEADLINE_EXCEEDED) == Code::unavailable);
  CHECK(code_of(grpc::StatusCode::CANCELLED) == Code::unavailable);
  CHECK(code_of(grpc::StatusCode::RESOURCE_EXHAUSTED) == Code::unavailable);
  CHECK(code_of(grpc::StatusCode::ALREADY_EXISTS) == Code::conflict);
  CHECK(code_of(grpc::StatusCode::PERMISSION_DENIED) == Code::invalid);
  CHECK(code_of(grpc::StatusCode::UNIMPLEMENTED) == Code::internal);
  CHECK(code_of(grpc::StatusCode::UNKNOWN) == Code::internal);
}
