// Values of schemas/types <-> messages of agent.proto. Decoding refuses what does not make sense:
// nothing beyond this line checks again.
#pragma once

#include "schemas/base/result.h"
#include "schemas/proto/agent.pb.h"
#include "schemas/types/agent.h"

namespace trainyard {

proto::AgentReport to_proto(const AgentReport& report);
Result<AgentReport> from_proto(const proto::AgentReport& message);
proto::Assignment to_proto(const Assignment& assignment);
Result<Assignment> from_proto(const proto::Assignment& message);
// One task of an assignment by itself, as an agent keeps it.
std::string to_bytes(const WantedTask& task);
Result<WantedTask> wanted_task_from_bytes(const std::string& bytes);
proto::TaskKey to_proto(const TaskKey& key);
Result<TaskKey> from_proto(const proto::TaskKey& message);
proto::ArtifactFile to_proto(const ArtifactFile& file);
// Refuses names that are absolute or climb ("..") and hashes that are none.
Result<ArtifactFile> from_proto(const proto::ArtifactFile& message);

}  // namespace trainyard
