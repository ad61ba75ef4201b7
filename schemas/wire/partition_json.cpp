#include "schemas/wire/partition_json.h"

#include <utility>
#include <vector>

#include "schemas/wire/json_text.h"
#include "schemas/wire/spec_names.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::size_t shares_max = 10'000;
constexpr std::size_t variables_max = 1'000;
constexpr std::size_t name_length_max = 255;
constexpr IntegerRange any_count{0, std::int64_t{1} << 48};  // the shares' sum is a number, too

HeldVariable read_variable(const JsonPlace& place) {
  HeldVariable variable;
  Fields fields(place, Absence::is_a_fault);
  fields.text("name", variable.name, printable_rule(1, name_length_max));
  fields.integer("bytes", variable.bytes, any_count);
  fields.integer("pieces", variable.pieces, any_count);
  return variable;
}

std::string read_table(const JsonPlace& place) {
  return read_text(place, printable_rule(1, name_length_max)).value_or("");
}

template <class T>
std::vector<T> read_list(Fields& fields, std::string_view name, std::size_t most,
                         T (*read)(const JsonPlace&)) {
  std::vector<T> items;
  const auto place = fields.find(name);
  if (!place) return items;
  if (!place->value.is_array() || place->value.size() > most) {
    place->fault("must be an array of at most " + std::to_string(most));
    return items;
  }
  for (const json& item : place->value) {
    items.push_back(
        read({item, child_pointer(place->pointer, std::to_string(items.size())), place->faults}));
  }
  return items;
}

HeldShare read_share(const JsonPlace& place) {
  HeldShare share;
  Fields fields(place, Absence::is_a_fault);
  fields.text("task", share.task, label_rule(name_length_max));
  fields.integer("bytes", share.bytes, any_count);
  fields.text("transport", share.transport, printable_rule(0, name_length_max));
  share.variables = read_list(fields, "variables", variables_max, read_variable);
  fields.integer("variables_left_out", share.variables_left_out, any_count);
  return share;
}

json share_to_json(const HeldShare& share) {
  json variables = json::array();
  for (const HeldVariable& variable : share.variables) {
    variables.push_back(
        {{"name", variable.name}, {"bytes", variable.bytes}, {"pieces", variable.pieces}});
  }
  return {{"task", share.task},
          {"bytes", share.bytes},
          {"transport", share.transport},
          {"variables", std::move(variables)},
          {"variables_left_out", share.variables_left_out}};
}

}  // namespace

json partition_to_json(const Partition& partition) {
  json shares = json::array();
  for (const HeldShare& share : partition.shares) shares.push_back(share_to_json(share));
  return {{"policy", find_name(partitioning_names, partition.policy)},
          {"tables", partition.tables},
          {"shares", std::move(shares)}};
}

Partition read_partition(const JsonPlace& place) {
  Partition partition;
  Fields fields(place, Absence::is_a_fault);
  fields.choice("policy", partition.policy, partitioning_names);
  partition.tables = read_list(fields, "tables", variables_max, read_table);
  partition.shares = read_list(fields, "shares", shares_max, read_share);
  return partition;
}

std::string to_row_json(const Partition& partition) {
  return to_text(partition_to_json(partition));
}

Result<Partition> partition_from_row(std::string_view text) {
  const auto parsed = parse_json(text, "a stored partition");
  if (!parsed) return internal(parsed.error().message);
  std::vector<Fault> faults;
  Partition partition = read_partition({*parsed, "", faults});
  if (!faults.empty()) return internal(to_error("a stored partition", faults).message);
  return partition;
}

json shown_partition_to_json(const Partition& partition, std::int64_t attempt) {
  const std::int64_t total = total_bytes(partition);
  json shown = partition_to_json(partition);
  for (json& share : shown["shares"]) {
    const auto bytes = static_cast<double>(share["bytes"].get<std::int64_t>());
    share["share"] = total > 0 ? bytes / static_cast<double>(total) : 0.0;
    if (share["transport"] == "") share["transport"] = nullptr;
  }
  shown["attempt"] = attempt;
  shown["bytes"] = total;
  shown["balance"] = balance_of(partition);
  return shown;
}

}  // namespace trainyard
