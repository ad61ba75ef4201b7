// Lists and maps inside rows of the server's database, as JSON text. Not what REST shows
// (job_json): these must be read back exactly. A text that cannot be read back is an `internal`
// error.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/agent.h"
#include "schemas/types/job.h"
#include "schemas/types/run_event.h"

namespace trainyard {

std::string to_row_json(const std::map<std::string, double>& numbers);
std::string to_row_json(const std::vector<int>& numbers);
std::string to_row_json(const std::vector<Transition>& transitions);
std::string to_row_json(const FirstFailure& failure);
std::string to_row_json(const ArtifactFile& file);
std::string to_row_json(const std::vector<ArtifactFile>& files);
std::string to_row_json(const HostInfo& host);

// Defined for each of the types above: from_row_json<HostInfo>(text).
template <class T>
Result<T> from_row_json(std::string_view text);

}  // namespace trainyard
