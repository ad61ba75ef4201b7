#include "schemas/wire/row_json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "schemas/wire/json_text.h"
#include "schemas/wire/product_rates_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

// --- each type both ways; the library's exceptions end in from_row_json

json encode(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}
void decode(const json& value, double& number) {
  if (value.is_number()) {
    value.get_to(number);
    return;
  }
  const std::string text = value.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  number = text == "inf" ? infinity : text == "-inf" ? -infinity : std::nan("");
}

json encode(const std::map<std::string, double>& numbers) {
  json object = json::object();
  for (const auto& [name, number] : numbers) object[name] = encode(number);
  return object;
}
void decode(const json& value, std::map<std::string, double>& numbers) {
  for (const auto& [name, number] : value.items()) decode(number, numbers[name]);
}

json encode(const std::vector<int>& numbers) { return numbers; }
void decode(const json& value, std::vector<int>& numbers) { value.get_to(numbers); }

json encode(const std::optional<int>& number) { return number ? json(*number) : json(); }
void decode(const json& value, std::optional<int>& number) {
  if (!value.is_null()) number = value.get<int>();
}

json encode(WallTime time) { return time.unix_millis; }
void decode(const json& value, WallTime& time) { value.get_to(time.unix_millis); }

void decode(const json& value, JobState& state) {
  const auto found = job_state_from(value.get<std::string>());
  if (!found) throw json::other_error::create(501, "unknown state " + value.dump(), &value);
  state = *found;
}

json encode(const Transition& transition) {
  return {{"from", name_of(transition.from)},     {"to", name_of(transition.to)},
          {"reason", name_of(transition.reason)}, {"message", transition.message},
          {"attempt", transition.attempt},        {"time", encode(transition.time)}};
}
void decode(const json& value, Transition& transition) {
  decode(value.at("from"), transition.from);
  decode(value.at("to"), transition.to);
  transition.reason = reason_from(value.at("reason").get<std::string>());
  value.at("message").get_to(transition.message);
  value.at("attempt").get_to(transition.attempt);
  decode(value.at("time"), transition.time);
}

json encode(const FirstFailure& failure) {
  return {{"task", failure.task},
          {"attempt", failure.attempt},
          {"agent", failure.agent.text},
          {"reason", name_of(failure.reason)},
          {"exit_code", encode(failure.exit.code)},
          {"exit_signal", encode(failure.exit.signal)},
          {"message", failure.message},
          {"log_tail", failure.log_tail}};
}
void decode(const json& value, FirstFailure& failure) {
  value.at("task").get_to(failure.task);
  value.at("attempt").get_to(failure.attempt);
  value.at("agent").get_to(failure.agent.text);
  failure.reason = reason_from(value.at("reason").get<std::string>());
  decode(value.at("exit_code"), failure.exit.code);
  decode(value.at("exit_signal"), failure.exit.signal);
  value.at("message").get_to(failure.message);
  value.at("log_tail").get_to(failure.log_tail);
}

json encode(const ArtifactFile& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}};
}
void decode(const json& value, ArtifactFile& file) {
  value.at("name").get_to(file.name);
  value.at("bytes").get_to(file.bytes);
  value.at("sha256").get_to(file.sha256);
}

json encode(const HostInfo& host) {
  json gpus = json::array();
  for (const GpuInfo& gpu : host.gpus) {
    gpus.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"memory_mb", gpu.memory_mb},
                    {"uuid", gpu.uuid},
                    {"numa_node", encode(gpu.numa_node)},
                    {"peers", gpu.peers},
                    {"product_tflops", product_rates_to_json(gpu.product_rates)}});
  }
  return {{"address", host.address},
          {"cpus", host.capacity.cpus},
          {"memory_mb", host.capacity.memory_mb},
          {"gpu_slots", host.capacity.gpus},
          {"gpus", gpus},
          {"first_port", host.first_port},
          {"last_port", host.last_port},
          {"labels", host.labels},
          {"agent_version", host.agent_version},
          {"allowed_env", host.allowed_env}};
}
void decode(const json& value, GpuInfo& gpu) {
  value.at("index").get_to(gpu.index);
  value.at("name").get_to(gpu.name);
  value.at("memory_mb").get_to(gpu.memory_mb);
  gpu.uuid = value.value("uuid", std::string());  // older rows: none, as what follows
  decode(value.value("numa_node", json()), gpu.numa_node);
  gpu.peers = value.value("peers", std::vector<std::string>());
  std::vector<Fault> faults;  // what is at fault is not known
  gpu.product_rates =
      read_product_rates({value.value("product_tflops", json::object()), "", faults});
}
template <class T>
void decode(const json& value, std::vector<T>& items) {
  for (const json& item : value) decode(item, items.emplace_back());
}
void decode(const json& value, HostInfo& host) {
  value.at("address").get_to(host.address);
  value.at("cpus").get_to(host.capacity.cpus);
  value.at("memory_mb").get_to(host.capacity.memory_mb);
  value.at("gpu_slots").get_to(host.capacity.gpus);
  decode(value.at("gpus"), host.gpus);
  value.at("first_port").get_to(host.first_port);
  value.at("last_port").get_to(host.last_port);
  value.at("labels").get_to(host.labels);
  value.at("agent_version").get_to(host.agent_version);
  host.allowed_env = value.value("allowed_env", std::vector<std::string>());  // older rows: none
}

template <class T>
std::string encode_list(const std::vector<T>& items) {
  json list = json::array();
  for (const T& item : items) list.push_back(encode(item));
  return to_text(list);
}

}  // namespace

std::string to_row_json(const std::map<std::string, double>& numbers) {
  return to_text(encode(numbers));
}
std::string to_row_json(const std::vector<int>& numbers) { return to_text(encode(numbers)); }
std::string to_row_json(const std::vector<Transition>& transitions) {
  return encode_list(transitions);
}
std::string to_row_json(const FirstFailure& failure) { return to_text(encode(failure)); }
std::string to_row_json(const ArtifactFile& file) { return to_text(encode(file)); }
std::string to_row_json(const std::vector<ArtifactFile>& files) { return encode_list(files); }
std::string to_row_json(const HostInfo& host) { return to_text(encode(host)); }

template <class T>
Result<T> from_row_json(std::string_view text) {
  auto parsed = parse_json(text, "a stored row");
  if (!parsed) return internal(parsed.error().message);
  try {
    T value;
    decode(*parsed, value);
    return value;
  } catch (const json::exception& error) {
    return internal(std::string("a stored row cannot be read back: ") + error.what());
  }
}

template Result<std::map<std::string, double>> from_row_json(std::string_view);
template Result<std::vector<int>> from_row_json(std::string_view);
template Result<std::vector<Transition>> from_row_json(std::string_view);
template Result<FirstFailure> from_row_json(std::string_view);
template Result<ArtifactFile> from_row_json(std::string_view);
template Result<std::vector<ArtifactFile>> from_row_json(std::string_view);
template Result<HostInfo> from_row_json(std::string_view);

}  // namespace trainyard
