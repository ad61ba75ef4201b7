// A report that an agent sends. One that is taken is the same after another trip.
#include "schemas/base/check.h"
#include "schemas/wire/agent_codec.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  proto::AgentReport message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto report = from_proto(message);
  if (!report) return 0;
  const auto again = from_proto(to_proto(*report));
  ENSURE(again.has_value());
  ENSURE(*again == *report);
  return 0;
}
