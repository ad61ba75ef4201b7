#include "schemas/wire/run_event_json.h"

#include <vector>

#include "schemas/types/names.h"
#include "schemas/wire/artifact_json.h"
#include "schemas/wire/json_fields.h"
#include "schemas/wire/partition_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

using Phase = PhaseEvent::Phase;
constexpr NameTable<Phase, 3> phases{
    {{Phase::starting, "starting"}, {Phase::running, "running"}, {Phase::finishing, "finishing"}}};

constexpr IntegerRange any_step{0, std::int64_t{1} << 53};  // which doubles tell apart
constexpr std::size_t ranks_max = 10'000;
constexpr TextRule any_text{0, 64 * 1024, [](char) { return true; }, "any"};

PhaseEvent read_phase(Fields& fields) {
  PhaseEvent event;
  fields.choice("phase", event.phase, phases);
  fields.text("detail", event.detail, any_text);
  return event;
}

MetricEvent read_metric(Fields& fields) {
  MetricEvent event;
  fields.integer("step", event.step, any_step);
  fields.integer("max_steps", event.max_steps, any_step);
  if (const auto place = fields.find("values")) event.values = read_number_map(*place);
  return event;
}

std::vector<std::int64_t> read_steps(const JsonPlace& place) {
  std::vector<std::int64_t> steps;
  if (!place.value.is_array() || place.value.size() > ranks_max) {
    place.fault("must be an array of at most " + std::to_string(ranks_max) + " steps");
    return steps;
  }
  for (std::size_t i = 0; i < place.value.size(); ++i) {
    const JsonPlace item{place.value[i], child_pointer(place.pointer, std::to_string(i)),
                         place.faults};
    steps.push_back(read_integer(item, any_step).value_or(0));
  }
  return steps;
}

// An older runtime does not say what is in it.
ShardEvent read_shard(Fields& fields, Fields more) {
  ShardEvent event;
  fields.integer("step", event.step, any_step);
  if (const auto place = fields.find("file")) event.file = read_artifact(*place);
  more.integer("version", event.version, any_step);
  if (const auto place = more.find("rank_steps")) event.rank_steps = read_steps(*place);
  return event;
}

ManifestEvent read_manifest(Fields& fields, Fields more) {
  ManifestEvent event;
  fields.integer("step", event.step, any_step);
  if (const auto place = fields.find("manifest")) event.manifest = read_artifact(*place);
  if (const auto place = fields.find("shards")) event.shards = read_artifacts(*place);
  if (const auto place = fields.find("metrics")) event.metrics = read_number_map(*place);
  fields.boolean("final", event.final_one);
  if (const auto place = more.find("vocabulary")) event.vocabulary = read_artifact(*place);
  return event;
}

PartitionEvent read_partition_event(Fields& fields) {
  PartitionEvent event;
  if (const auto place = fields.find("partition")) event.partition = read_partition(*place);
  return event;
}

FailureEvent read_failure(Fields& fields) {
  FailureEvent event;
  fields.text("reason", event.reason, name_rule(64));
  fields.text("message", event.message, any_text);
  return event;
}

void read_time(Fields& fields, WallTime& out) {
  const auto place = fields.find("time");
  if (!place || place->value.is_null()) return;
  const auto* text = place->value.get_ptr<const std::string*>();
  if (const auto time = parse_rfc3339(text != nullptr ? *text : ""); time) {
    out = *time;
  } else {
    place->fault(time.error().message);
  }
}

json fields_of(const PhaseEvent& event) {
  return {{"kind", "phase"}, {"phase", find_name(phases, event.phase)}, {"detail", event.detail}};
}

json fields_of(const MetricEvent& event) {
  return {{"kind", "metric"},
          {"step", event.step},
          {"max_steps", event.max_steps},
          {"values", number_map_to_json(event.values)}};
}

json fields_of(const ShardEvent& event) {
  return {{"kind", "shard"},
          {"step", event.step},
          {"file", artifact_to_json(event.file)},
          {"version", event.version},
          {"rank_steps", event.rank_steps}};
}

json fields_of(const ManifestEvent& event) {
  json object = {{"kind", "manifest"},
                 {"step", event.step},
                 {"manifest", artifact_to_json(event.manifest)},
                 {"shards", artifacts_to_json(event.shards)},
                 {"metrics", number_map_to_json(event.metrics)},
                 {"final", event.final_one}};
  if (event.vocabulary) object["vocabulary"] = artifact_to_json(*event.vocabulary);
  return object;
}

json fields_of(const PartitionEvent& event) {
  return {{"kind", "partition"}, {"partition", partition_to_json(event.partition)}};
}

json fields_of(const FailureEvent& event) {
  return {{"kind", "failure"}, {"reason", event.reason}, {"message", event.message}};
}

}  // namespace

Result<RunEvent> parse_run_event(std::string_view line, std::int64_t offset) {
  const std::string document = "run event at offset " + std::to_string(offset);
  if (line.size() > run_event_bytes_max) {
    return invalid(document + ": is longer than " + std::to_string(run_event_bytes_max) + " bytes");
  }
  TRY_ASSIGN(const json value, parse_json(line, document));

  std::vector<Fault> faults;
  RunEvent event;
  event.offset = offset;
  Fields fields({value, "", faults}, Absence::is_a_fault);
  read_time(fields, event.time);
  std::string kind;
  fields.text("kind", kind, name_rule(64));
  if (kind == "phase") {
    event.what = read_phase(fields);
  } else if (kind == "metric") {
    event.what = read_metric(fields);
  } else if (kind == "shard") {
    event.what = read_shard(fields, Fields({value, "", faults}));
  } else if (kind == "manifest") {
    event.what = read_manifest(fields, Fields({value, "", faults}));
  } else if (kind == "partition") {
    event.what = read_partition_event(fields);
  } else if (kind == "failure") {
    event.what = read_failure(fields);
  } else if (faults.empty()) {
    faults.push_back(
        {"/kind", "must be one of phase, metric, shard, manifest, partition, failure"});
  }
  // Fields that are not known here are let pass: a newer runtime may say more.
  if (!faults.empty()) return to_error(document, faults);
  return event;
}

std::string to_json_line(const RunEvent& event) {
  json value = std::visit([](const auto& what) { return fields_of(what); }, event.what);
  value["time"] = event.time.is_set() ? json(to_rfc3339(event.time)) : json(nullptr);
  return to_text(value);
}

}  // namespace trainyard
