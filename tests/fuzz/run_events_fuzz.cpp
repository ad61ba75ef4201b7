// Lines of events.jsonl, which a task writes and an agent and the server read.
#include "schemas/base/check.h"
#include "schemas/wire/run_event_json.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  while (!rest.empty()) {
    const auto event = parse_run_event(fuzz::take_line(rest), 0);
    if (!event) continue;
    const std::string line = to_json_line(*event);
    ENSURE(line.find('\n') == std::string::npos);
    const auto again = parse_run_event(line, 0);
    ENSURE(again.has_value());
    ENSURE(to_json_line(*again) == line);
  }
  return 0;
}
