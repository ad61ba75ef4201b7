#include "schemas/wire/report_check.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "schemas/base/utf8.h"
#include "schemas/types/env_names.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {
namespace {

// To each of these something may be added for ever without an overflow.
constexpr std::int64_t report_number_max = std::int64_t{1} << 62;
constexpr std::int64_t time_max = 253'402'300'799'999;  // the last millisecond of the year 9999
constexpr std::int64_t cpus_max = 1 << 20;
constexpr std::int64_t memory_mb_max = std::int64_t{1} << 40;
constexpr std::int64_t gpus_max = 1024;
constexpr int gpu_index_max = 65'535;
constexpr int numa_node_max = 65'535;
constexpr std::int64_t power_milliwatts_max = 100'000'000;
constexpr std::int64_t port_max = 65'535;
constexpr std::size_t address_length_max = 255;  // as a name of DNS
constexpr std::size_t labels_max = 64;
constexpr std::size_t label_key_max = 63;
constexpr std::size_t text_max = 255;  // names, label values, versions
constexpr std::size_t host_texts_max = 32 << 10;
constexpr std::size_t tasks_max = 65'536;  // each has a port
constexpr std::int64_t index_max = 1'000'000;
constexpr std::int64_t pid_max = 1 << 30;
constexpr std::size_t token_max = 255;
constexpr std::size_t words_max = 64 << 10;  // a message, the end of a log
constexpr std::int64_t fields_max = 1'000'000;

// Where a value is, put into words only when it is refused.
struct Place {
  std::string_view list;
  std::size_t index = 0;
  std::string_view field;
};

std::string words_of(std::string_view field) { return std::string(field); }
std::string words_of(const Place& place) {
  return std::string(place.list) + "[" + std::to_string(place.index) + "]" +
         std::string(place.field);
}

template <class At>
Error refused(const At& at, const std::string& why) {
  return invalid(words_of(at) + ": " + why);
}

template <class At>
Status within(const At& at, std::int64_t least, std::int64_t most, std::int64_t value) {
  if (value >= least && value <= most) return ok();
  return refused(at, "must be " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
                         std::to_string(value));
}

template <class At>
Status check_id(const At& at, std::string_view id) {
  if (is_id(id)) return ok();
  return refused(at, "must be " + std::string(id_rule) + ", got \"" +
                         to_valid_utf8(id.substr(0, id_length_max)) + "\"");
}

template <class At>
Status at_most(const At& at, std::size_t bytes_max, std::string_view text) {
  if (text.size() <= bytes_max) return ok();
  return refused(at, "must be at most " + std::to_string(bytes_max) + " bytes long, got " +
                         std::to_string(text.size()));
}

template <class At>
Status check_text(const At& at, std::string_view text) {
  TRY(at_most(at, text_max, text));
  if (std::ranges::all_of(text, is_printable)) return ok();
  return refused(at, "must have no control characters");
}

// It becomes a part of "host:port", which peers connect to.
bool is_address_letter(char byte) {
  return is_id_letter(byte) || byte == ':' || byte == '[' || byte == ']' || byte == '%';
}

Status check_address(std::string_view address) {
  TRY(at_most("host.address", address_length_max, address));
  if (!address.empty() && std::ranges::all_of(address, is_address_letter)) return ok();
  return refused("host.address", "must be the name of a host or an IP address, got \"" +
                                     to_valid_utf8(address) + "\"");
}

template <class At>
Status check_uuid(const At& at, std::string_view uuid) {
  TRY(at_most(at, gpu_uuid_max, uuid));
  if (std::ranges::all_of(uuid, is_gpu_uuid_letter)) return ok();
  return refused(at, "must be a UUID of a GPU, got \"" + to_valid_utf8(uuid) + "\"");
}

// Of the GPUs of one host: each UUID once, and peers that are among them.
Status check_uuids(const std::vector<GpuInfo>& gpus) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    TRY(check_uuid(Place{"host.gpus", i, ".uuid"}, gpus[i].uuid));
    if (!gpus[i].uuid.empty() && !seen.insert(gpus[i].uuid).second) {
      return refused(Place{"host.gpus", i, ".uuid"}, gpus[i].uuid + " is there twice");
    }
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const Place peers{"host.gpus", i, ".peers"};
    if (gpus[i].peers.size() >= std::max<std::size_t>(gpus.size(), 1)) {
      return refused(peers, "are more than there are other GPUs");
    }
    std::set<std::string_view> named;
    for (const std::string& peer : gpus[i].peers) {
      if (!seen.contains(peer)) return refused(peers, "has the UUID of no GPU of this host");
      if (peer == gpus[i].uuid) return refused(peers, "has the UUID of the GPU itself");
      if (!named.insert(peer).second) return refused(peers, peer + " is there twice");
    }
  }
  return ok();
}

// Either not one is described, or each.
Status check_gpus(const HostInfo& host) {
  if (!host.gpus.empty() && std::cmp_not_equal(host.gpus.size(), host.capacity.gpus)) {
    return refused("host.gpus", "describes " + std::to_string(host.gpus.size()) +
                                    " GPUs where host.capacity.gpus is " +
                                    std::to_string(host.capacity.gpus));
  }
  std::set<int> seen;
  for (std::size_t i = 0; i < host.gpus.size(); ++i) {
    const GpuInfo& gpu = host.gpus[i];
    TRY(within(Place{"host.gpus", i, ".index"}, 0, gpu_index_max, gpu.index));
    if (!seen.insert(gpu.index).second) {
      return refused(Place{"host.gpus", i, ".index"},
                     std::to_string(gpu.index) + " is there twice");
    }
    TRY(check_text(Place{"host.gpus", i, ".name"}, gpu.name));
    TRY(within(Place{"host.gpus", i, ".memory_mb"}, 0, memory_mb_max, gpu.memory_mb));
    TRY(within(Place{"host.gpus", i, ".numa_node"}, 0, numa_node_max, gpu.numa_node.value_or(0)));
  }
  return check_uuids(host.gpus);
}

Status check_strangers(std::size_t i, const std::vector<GpuProcess>& strangers) {
  if (strangers.size() > gpu_strangers_max) {
    return refused(Place{"gpus", i, ".strangers"}, "must be at most " +
                                                       std::to_string(gpu_strangers_max) +
                                                       ", got " + std::to_string(strangers.size()));
  }
  for (const GpuProcess& process : strangers) {
    TRY(within(Place{"gpus", i, ".strangers, a pid"}, 1, pid_max, process.pid));
    TRY(within(Place{"gpus", i, ".strangers, memory_mb"}, 0, memory_mb_max,
               process.memory_mb.value_or(0)));
  }
  return ok();
}

Status check_reading(std::size_t i, const GpuReading& gpu) {
  TRY(within(Place{"gpus", i, ".temperature_celsius"}, -300, 1000,
             gpu.temperature_celsius.value_or(0)));
  TRY(within(Place{"gpus", i, ".power_milliwatts"}, 0, power_milliwatts_max,
             gpu.power_milliwatts.value_or(0)));
  TRY(within(Place{"gpus", i, ".utilization_percent"}, 0, 100,
             gpu.utilization_percent.value_or(0)));
  TRY(within(Place{"gpus", i, ".memory_used_mb"}, 0, memory_mb_max,
             gpu.memory_used_mb.value_or(0)));
  return check_strangers(i, gpu.strangers);
}

bool has_slot(const HostInfo& host, int index) {
  if (host.gpus.empty()) return index < host.capacity.gpus;
  return std::ranges::count(host.gpus, index, &GpuInfo::index) > 0;
}

// Of GPUs that the host has, and of each at most one.
Status check_readings(const AgentReport& report) {
  if (std::cmp_greater(report.gpus.size(), report.host.capacity.gpus)) {
    return refused("gpus", "tells of " + std::to_string(report.gpus.size()) +
                               " GPUs where host.capacity.gpus is " +
                               std::to_string(report.host.capacity.gpus));
  }
  std::set<int> seen;
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    const int index = report.gpus[i].index;
    const Place place{"gpus", i, ".index"};
    TRY(within(place, 0, gpu_index_max, index));
    if (!seen.insert(index).second)
      return refused(place, std::to_string(index) + " is there twice");
    if (!has_slot(report.host, index)) {
      return refused(place, std::to_string(index) + " is no GPU of this host");
    }
    TRY(check_reading(i, report.gpus[i]));
  }
  return ok();
}

Status check_labels(const HostInfo& host) {
  if (host.labels.size() > labels_max) {
    return refused("host.labels", "must be at most " + std::to_string(labels_max) + ", got " +
                                      std::to_string(host.labels.size()));
  }
  for (const auto& [key, value] : host.labels) {
    if (key.empty()) return refused("host.labels", "a key is empty");
    TRY(at_most("host.labels, a key", label_key_max, key));
    TRY(check_text("host.labels, a key", key));
    TRY(check_text("host.labels." + key, value));
  }
  return ok();
}

Status check_allowed_env(const HostInfo& host) {
  if (host.allowed_env.size() > env_patterns_max) {
    return refused("host.allowed_env", "must be at most " + std::to_string(env_patterns_max) +
                                           " patterns, got " +
                                           std::to_string(host.allowed_env.size()));
  }
  for (std::size_t i = 0; i < host.allowed_env.size(); ++i) {
    if (is_env_pattern(host.allowed_env[i])) continue;
    return refused(Place{"host.allowed_env", i, ""},
                   "must be the name of an environment variable, or its beginning and a '*'");
  }
  return ok();
}

Status check_host_texts(const HostInfo& host) {
  constexpr std::size_t each = 16;  // of a list, whatever it says
  std::size_t bytes = host.address.size() + host.agent_version.size();
  for (const auto& [key, value] : host.labels) bytes += each + key.size() + value.size();
  for (const GpuInfo& gpu : host.gpus) {
    bytes += each + gpu.name.size() + gpu.uuid.size();
    for (const std::string& peer : gpu.peers) bytes += each + peer.size();
  }
  if (bytes <= host_texts_max) return ok();
  return refused("host", "its labels and GPUs must be at most " + std::to_string(host_texts_max) +
                             " bytes in all, got " + std::to_string(bytes));
}

Status check_key(std::size_t i, const TaskKey& key) {
  TRY(check_id(Place{"tasks", i, ".key.job"}, key.job.text));
  TRY(within(Place{"tasks", i, ".key.attempt"}, 1, report_number_max, key.attempt));
  return within(Place{"tasks", i, ".key.index"}, 0, index_max, key.index);
}

// Offsets ascend and lie in [begin, end): that they do is what keeps a resend harmless.
Status check_events(std::size_t i, const TaskReport& task) {
  TRY(within(Place{"tasks", i, ".events_begin"}, 0, report_number_max, task.events_begin));
  TRY(within(Place{"tasks", i, ".events_end"}, task.events_begin, report_number_max,
             task.events_end));
  if (task.events.empty()) return ok();
  const std::string list = words_of(Place{"tasks", i, ".events"});
  std::int64_t least = task.events_begin;
  for (std::size_t at = 0; at < task.events.size(); ++at) {
    const std::int64_t offset = task.events[at].offset;
    TRY(within(Place{list, at, ".offset"}, least, task.events_end - 1, offset));
    least = offset + 1;
  }
  return ok();
}

Status check_ending(std::size_t i, const TaskReport& task) {
  if (task.exit.code && task.exit.signal) {
    return refused(Place{"tasks", i, ".exit"}, "has both an exit code and a signal");
  }
  TRY(within(Place{"tasks", i, ".exit.code"}, 0, 255, task.exit.code.value_or(0)));
  TRY(within(Place{"tasks", i, ".exit.signal"}, 1, 127, task.exit.signal.value_or(1)));
  TRY(at_most(Place{"tasks", i, ".message"}, words_max, task.message));
  TRY(at_most(Place{"tasks", i, ".log_tail"}, words_max, task.log_tail));
  TRY(within(Place{"tasks", i, ".started_at"}, 0, time_max, task.started_at.unix_millis));
  return within(Place{"tasks", i, ".finished_at"}, 0, time_max, task.finished_at.unix_millis);
}

Status check_task(std::size_t i, const TaskReport& task) {
  TRY(check_key(i, task.key));
  TRY(at_most(Place{"tasks", i, ".token"}, token_max, task.token));
  TRY(within(Place{"tasks", i, ".pid"}, 0, pid_max, task.pid));
  TRY(check_events(i, task));
  return check_ending(i, task);
}

Status check_tasks(const std::vector<TaskReport>& tasks) {
  if (tasks.size() > tasks_max) {
    return refused("tasks", "must be at most " + std::to_string(tasks_max) + ", got " +
                                std::to_string(tasks.size()));
  }
  std::set<TaskKey> seen;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    TRY(check_task(i, tasks[i]));
    if (!seen.insert(tasks[i].key).second) {
      return refused(Place{"tasks", i, ".key"}, to_string(tasks[i].key) + " is there twice");
    }
  }
  return ok();
}

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

// Counts `left` down by the fields of a message and of those in it; false where it runs out, or the
// bytes are no message.
bool count_fields(const Descriptor& type, CodedInputStream& in, std::int64_t& left) {
  enum WireType { varint = 0, eight_bytes = 1, with_length = 2, four_bytes = 5 };
  while (const std::uint32_t tag = in.ReadTag()) {
    if (--left < 0) return false;
    std::uint64_t value = 0;
    int length = 0;
    switch (tag & 7U) {
      case varint:
        if (!in.ReadVarint64(&value)) return false;
        break;
      case eight_bytes:
        if (!in.Skip(8)) return false;
        break;
      case four_bytes:
        if (!in.Skip(4)) return false;
        break;
      case with_length: {
        if (!in.ReadVarintSizeAsInt(&length)) return false;
        const FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3U));
        const Descriptor* const part = field == nullptr ? nullptr : field->message_type();
        if (part == nullptr) {
          if (!in.Skip(length)) return false;
          break;
        }
        const int room = in.BytesUntilLimit();
        if (room >= 0 && length > room) return false;
        const auto outer = in.PushLimit(length);
        if (!count_fields(*part, in, left) || in.BytesUntilLimit() != 0) return false;
        in.PopLimit(outer);
        break;
      }
      default: return false;  // groups: of an older protocol than any of ours
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

Status check_host(const HostInfo& host) {
  TRY(check_address(host.address));
  TRY(within("host.capacity.cpus", 0, cpus_max, host.capacity.cpus));
  TRY(within("host.capacity.memory_mb", 0, memory_mb_max, host.capacity.memory_mb));
  TRY(within("host.capacity.gpus", 0, gpus_max, host.capacity.gpus));
  TRY(check_gpus(host));
  TRY(within("host.first_port", 1, port_max, host.first_port));
  TRY(within("host.last_port", host.first_port, port_max, host.last_port));
  TRY(check_labels(host));
  TRY(check_text("host.agent_version", host.agent_version));
  TRY(check_allowed_env(host));
  return check_host_texts(host);
}

Status check_report(const AgentReport& report) {
  TRY(check_id("agent", report.agent.text));
  TRY(check_id("instance", report.instance));
  TRY(within("epoch", 0, report_number_max, report.epoch));
  TRY(within("number", 0, report_number_max, report.number));
  TRY(within("generation", 0, report_number_max, report.generation));
  TRY(check_host(report.host));
  TRY(check_readings(report));
  return check_tasks(report.tasks);
}

Status check_field_count(const Descriptor& type, google::protobuf::io::ZeroCopyInputStream& bytes) {
  CodedInputStream in(&bytes);
  std::int64_t left = fields_max;
  if (count_fields(type, in, left)) return ok();
  return invalid(left < 0 ? "the report has more than " + std::to_string(fields_max) + " fields"
                          : "the report is no message of " + std::string(type.name()));
}

}  // namespace trainyard
