// One line of a task's events.jsonl <-> RunEvent.
//   {"time":"…","kind":"metric","step":10,"max_steps":600,"values":{"loss":0.5}}
//   {"time":"…","kind":"phase","phase":"running","detail":""}
//   {"time":"…","kind":"shard","step":10,"file":{"name":"…","bytes":1,"sha256":"…"}}
//   {"time":"…","kind":"manifest","step":10,"manifest":{…},"shards":[{…}],"metrics":{…},
//    "final":false}
//   {"time":"…","kind":"partition","partition":{…}}, as partition_json has it
//   {"time":"…","kind":"failure","reason":"BAD_DATA","message":"…"}
// Numbers that JSON cannot say (NaN, infinities) are written as the strings "nan", "inf", "-inf".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/run_event.h"

namespace trainyard {

inline constexpr std::size_t run_event_bytes_max = 256 * 1024;  // of a line

Result<RunEvent> parse_run_event(std::string_view line, std::int64_t offset);
std::string to_json_line(const RunEvent& event);  // without the newline

Result<WallTime> parse_rfc3339(std::string_view text);

}  // namespace trainyard
