// Partition as JSON: in a run event and in a row of the database
//   {"policy":"chunks","tables":[],"shares":[{"task":"ps/0","bytes":159136,"transport":"unix",
//    "variables":[{"name":"dense_0/kernel","bytes":156800,"pieces":2}],"variables_left_out":1}]}
// and as REST shows it, with what follows from that.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/partition.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

nlohmann::json partition_to_json(const Partition& partition);
Partition read_partition(const JsonPlace& place);

// A row's text. `internal` where it cannot be read back.
std::string to_row_json(const Partition& partition);
Result<Partition> partition_from_row(std::string_view text);

// With the attempt that it is of, the sum of its bytes, the balance, and the part of the whole that
// each share is.
nlohmann::json shown_partition_to_json(const Partition& partition, std::int64_t attempt);

}  // namespace trainyard
