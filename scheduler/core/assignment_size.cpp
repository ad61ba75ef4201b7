#include "scheduler/core/assignment_size.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "scheduler/core/checkpoints.h"
#include "schemas/model/outline.h"

namespace trainyard::scheduler {
namespace {

constexpr std::int64_t fixed_bytes = 8192;   // names of fields, numbers, token and hashes
constexpr std::int64_t address_bytes = 300;  // "host:port" as agents are allowed to have them
constexpr std::int64_t file_bytes = 256;     // a shard's name, size and sha256
constexpr std::int64_t shards_max = 1000;    // of another job's checkpoint: as many as a job has ps

// As JSON text, where a control character becomes six.
std::int64_t text_bytes(std::string_view text) {
  const auto escaped = [](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F;
  };
  return std::ssize(text) + 5 * std::ranges::count_if(text, escaped) + 8;
}

std::int64_t map_bytes(const std::map<std::string, std::string>& texts) {
  std::int64_t bytes = 0;
  for (const auto& [name, text] : texts) bytes += text_bytes(name) + text_bytes(text);
  return bytes;
}

}  // namespace

std::int64_t assignment_bytes(const JobSpec& spec) {
  const std::int64_t shards =
      resume_source_of(spec) ? shards_max : std::max<std::int64_t>(spec.ps.replicas, 1);
  return fixed_bytes + map_bytes(spec.labels) + map_bytes(spec.scheduling.host_labels) +
         map_bytes(spec.env) + text_bytes(spec.name) + model::json_bytes_max(spec.model) +
         text_bytes(spec.dataset.name) + text_bytes(spec.dataset.path) +
         text_bytes(spec.dataset.test_path) + text_bytes(spec.dataset.label_column) +
         text_bytes(spec.checkpoint.metric) + text_bytes(spec.checkpoint.resume_from) +
         address_bytes * (spec.ps.replicas + training_replicas(spec)) + file_bytes * (shards + 1);
}

}  // namespace trainyard::scheduler
