#include "schemas/wire/checkpoint_json.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "schemas/wire/artifact_json.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t manifest_number_max = std::int64_t{1} << 53;
constexpr std::int64_t elements_max = std::int64_t{1} << 44;  // of all variables: 64 TiB of floats
constexpr std::size_t list_max = 100'000;
constexpr std::size_t rank_max = 16;
constexpr TextRule any_text{0, 1'000'000, [](char) { return true; }, "any"};

// The items of an array, each read by `read_item`.
template <class T, class ReadItem>
std::vector<T> read_list(const JsonPlace& place, ReadItem read_item, std::size_t most = list_max) {
  std::vector<T> list;
  if (!place.value.is_array() || place.value.size() > most) {
    place.fault("must be an array of at most " + std::to_string(most) + ", got " +
                describe(place.value));
    return list;
  }
  for (const json& item : place.value) {
    list.push_back(read_item(
        JsonPlace{item, child_pointer(place.pointer, std::to_string(list.size())), place.faults}));
  }
  return list;
}

std::int64_t read_count(const JsonPlace& place) {
  return read_integer(place, {0, manifest_number_max}).value_or(0);
}

VariableInfo read_variable(const JsonPlace& place) {
  VariableInfo variable;
  Fields fields(place, Absence::is_a_fault);
  fields.text("name", variable.name, printable_rule(1, 500));
  if (const auto shape = fields.find("shape")) {
    variable.shape = read_list<std::int64_t>(*shape, read_count, rank_max);
  }
  return variable;
}

// Most models have one table, whose number is not written.
VariableInfo read_row_variable(const JsonPlace& place) {
  VariableInfo variable = read_variable(place);
  if (!place.value.is_object() || !place.value.contains("table")) return variable;
  Fields(place, Absence::is_a_fault).integer("table", variable.table, {0, row_tables_max - 1});
  return variable;
}

// A product that overflows is a size that is none: each is bounded, and so is their sum.
void check_sizes(const JsonPlace& place, const std::vector<VariableInfo>& variables) {
  std::int64_t sum = 0;
  for (const VariableInfo& variable : variables) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : variable.shape) {
      const bool overflows = __builtin_mul_overflow(elements, extent, &elements);
      if (!overflows && elements <= elements_max) continue;
      return place.fault("the shape of " + describe(json(variable.name)) + " is beyond " +
                         std::to_string(elements_max) + " elements");
    }
    sum += elements;
    if (sum > elements_max) {
      return place.fault("has more than " + std::to_string(elements_max) + " elements in all");
    }
  }
}

std::string read_slot(const JsonPlace& place) {
  return read_text(place, printable_rule(1, 100)).value_or("");
}

std::uint64_t read_seed(const JsonPlace& place) {
  if (place.value.is_number_unsigned()) return place.value.get<std::uint64_t>();
  place.fault("must be an integer of 0 or more, got " + describe(place.value));
  return 0;
}

void read_lists(Fields& fields, Manifest& manifest) {
  if (const auto part = fields.find("worker_steps")) {
    manifest.worker_steps = read_list<std::int64_t>(*part, read_count);
  }
  if (const auto part = fields.find("variables")) {
    manifest.variables = read_list<VariableInfo>(*part, read_variable);
    check_sizes(*part, manifest.variables);
  }
  if (const auto part = fields.find("slots")) {
    manifest.slots = read_list<std::string>(*part, read_slot);
  }
  if (const auto part = fields.find("shards")) manifest.shards = read_artifacts(*part);
}

json variables_to_json(const std::vector<VariableInfo>& variables) {
  json array = json::array();
  for (const VariableInfo& variable : variables) {
    json& object = array.emplace_back(json{{"name", variable.name}, {"shape", variable.shape}});
    if (variable.table > 0) object["table"] = variable.table;
  }
  return array;
}

// Elements "<begin>:<end>", end exclusive and not before begin.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_range(std::string_view text) {
  std::pair<std::int64_t, std::int64_t> range;
  const char* const stop = text.data() + text.size();
  const auto [colon, first] = std::from_chars(text.data(), stop, range.first);
  if (first != std::errc{} || colon == stop || *colon != ':') return std::nullopt;
  const auto [end, second] = std::from_chars(colon + 1, stop, range.second);
  if (second != std::errc{} || end != stop) return std::nullopt;
  if (range.first < 0 || range.second < range.first) return std::nullopt;
  return range;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  json object = {{"step", manifest.step},
                 {"attempt", manifest.attempt},
                 {"job", manifest.job},
                 {"spec_hash", manifest.spec_hash},
                 {"mode", manifest.mode},
                 {"seed", manifest.seed},
                 {"examples_seen", manifest.examples_seen},
                 {"worker_steps", manifest.worker_steps},
                 {"variables", variables_to_json(manifest.variables)},
                 {"slots", manifest.slots},
                 {"scalars", number_map_to_json(manifest.scalars)},
                 {"shards", artifacts_to_json(manifest.shards)},
                 {"metrics", number_map_to_json(manifest.metrics)},
                 {"description", manifest.description}};
  if (!manifest.rows.empty()) object["rows"] = variables_to_json(manifest.rows);
  if (manifest.vocabulary) object["vocabulary"] = artifact_to_json(*manifest.vocabulary);
  return to_text(object);
}

Result<Manifest> parse_manifest(std::string_view text) {
  TRY_ASSIGN(const json value, parse_json(text, "checkpoint manifest"));

  std::vector<Fault> faults;
  Manifest manifest;
  Fields fields({value, "", faults}, Absence::is_a_fault);
  fields.integer("step", manifest.step, {0, manifest_number_max});
  fields.integer("attempt", manifest.attempt, {0, manifest_number_max});
  fields.text("job", manifest.job, printable_rule(0, id_length_max));
  fields.text("spec_hash", manifest.spec_hash, printable_rule(0, 64));
  fields.text("mode", manifest.mode, printable_rule(0, 64));
  if (const auto part = fields.find("seed")) manifest.seed = read_seed(*part);
  fields.integer("examples_seen", manifest.examples_seen, {0, manifest_number_max});
  read_lists(fields, manifest);
  if (value.is_object() && value.contains("rows")) {  // most models have none
    const auto part = fields.find("rows");
    manifest.rows = read_list<VariableInfo>(*part, read_row_variable);
    check_sizes(*part, manifest.rows);
  }
  if (value.is_object() && value.contains("vocabulary")) {
    manifest.vocabulary = read_artifact(*fields.find("vocabulary"));
  }
  if (const auto part = fields.find("scalars")) manifest.scalars = read_number_map(*part);
  if (const auto part = fields.find("metrics")) manifest.metrics = read_number_map(*part);
  if (const auto part = fields.find("description")) {
    manifest.description = read_text_map(*part, {1000, any_text, any_text});
  }
  if (!faults.empty()) return to_error("checkpoint manifest", faults);
  return manifest;
}

std::string to_tensor_name(const ShardRange& range) {
  const std::string slot = range.slot.empty() ? "" : "#" + range.slot;
  return range.variable + slot + "@" + std::to_string(range.begin) + ":" +
         std::to_string(range.end);
}

Result<ShardRange> parse_tensor_name(std::string_view name) {
  const std::size_t at = name.rfind('@');
  const std::size_t mark = name.substr(0, at).find('#');
  const std::string_view variable = name.substr(0, std::min(at, mark));
  const auto range = at == name.npos ? std::nullopt : parse_range(name.substr(at + 1));
  const bool empty_slot = mark != name.npos && mark + 1 == at;
  if (!range || variable.empty() || empty_slot) {
    return invalid("tensor name " + describe(json(name)) +
                   " is not \"<variable>@<begin>:<end>\" or \"<variable>#<slot>@<begin>:<end>\"");
  }
  ShardRange shard{std::string(variable), "", range->first, range->second};
  if (mark != name.npos) shard.slot = name.substr(mark + 1, at - mark - 1);
  return shard;
}

std::string row_ids_name(std::int64_t table) {
  return table == 0 ? "ids@rows" : "ids/" + std::to_string(table) + "@rows";
}

std::string to_row_tensor_name(std::string_view variable, std::string_view slot) {
  std::string name(variable);
  if (!slot.empty()) name.append("#").append(slot);
  return name + "@rows";
}

bool is_row_tensor(std::string_view name) { return name.ends_with("@rows"); }

}  // namespace trainyard
