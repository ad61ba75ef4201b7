// What the scheduler and the store say, as the JSON of the REST contract
// (schemas/http/openapi.json).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/explain.h"
#include "scheduler/store/reader.h"
#include "schemas/types/job.h"
#include "schemas/types/task.h"

namespace trainyard::api {

nlohmann::json agent_to_json(const scheduler::AgentView& agent);
nlohmann::json plan_to_json(const scheduler::Plan& plan);
nlohmann::json explanation_to_json(const scheduler::Explanation& explanation,
                                   const std::optional<scheduler::PartitionRow>& partition);
nlohmann::json event_to_json(const scheduler::JobEventRow& event);
// JSON as text: a document of so many points would take many times the room.
std::string series_to_text(const std::vector<scheduler::MetricSeries>& series);
// "name,step,time,value" lines with a heading.
std::string series_to_csv(const std::vector<scheduler::MetricSeries>& series);
// "host:port" by role, position = index.
nlohmann::json cluster_to_json(const std::vector<TaskAttempt>& tasks);

}  // namespace trainyard::api
