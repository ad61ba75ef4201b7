// JSON <-> JobSpec. Parsing applies every default and lists every fault at once, each with its JSON
// pointer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schemas/types/job_spec.h"
#include "schemas/wire/fault.h"

namespace trainyard {

using ParsedJobSpec = std::variant<JobSpec, std::vector<Fault>, NotJson>;

// Accepts the short forms ("ps": 2, "model": "mlp"). Unknown fields, keys given twice, wrong types,
// numbers out of range, nesting deeper than 32 and combinations that can never run are faults; bad
// UTF-8 is NotJson.
ParsedJobSpec parse_job_spec(std::string_view text);

// The same for what was taken before, perhaps by an older version: rules that came later do not
// apply to it.
ParsedJobSpec parse_stored_job_spec(std::string_view text);

// The long form, every field present, keys sorted: what is stored, hashed and served.
// parse(to_json(x)) == x.
std::string to_json(const JobSpec& spec);
nlohmann::json to_json_value(const JobSpec& spec);

}  // namespace trainyard
