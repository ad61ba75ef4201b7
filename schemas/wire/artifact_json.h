// ArtifactFile as JSON, and the one check that every name and hash of a file passes before anyone
// opens a path made of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/run_event.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

// Refuses names that are absolute, climb ("..") or hold control characters, negative sizes, and
// hashes that are not 64 lower-case hex digits.
Status check_artifact(const ArtifactFile& file);

nlohmann::json artifact_to_json(const ArtifactFile& file);
nlohmann::json artifacts_to_json(const std::vector<ArtifactFile>& files);
ArtifactFile read_artifact(const JsonPlace& place);
std::vector<ArtifactFile> read_artifacts(const JsonPlace& place);

}  // namespace trainyard
