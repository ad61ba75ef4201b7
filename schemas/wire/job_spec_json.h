// JSON <-> JobSpec. Parsing applies every default and lists every fault at once, each with its JSON pointer.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "schemas/types/job_spec.h"

namespace trainyard {

struct Fault {
  std::string pointer;  // RFC 6901: "/roles/ps"; "" = the whole document
  std::string message;  // "must be 1 or more, got 0"
  bool operator==(const Fault&) const = default;
};

struct NotJson {
  std::string message;  // says at which byte
};

using ParsedJobSpec = std::variant<JobSpec, std::vector<Fault>, NotJson>;

// Accepts the short forms ("ps": 2, "model": "mlp"). Unknown fields, wrong types, numbers out of range, bad UTF-8,
// nesting deeper than 32 and combinations that can never run are faults.
ParsedJobSpec parse_job_spec(std::string_view text);

// The long form, every field present, keys sorted: what is stored, hashed and served. parse(to_json(x)) == x.
std::string to_json(const JobSpec& spec);
nlohmann::json to_json_value(const JobSpec& spec);

}  // namespace trainyard
