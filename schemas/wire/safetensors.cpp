#include "schemas/wire/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "schemas/wire/json_fields.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t length_field = 8;
constexpr std::int64_t header_length_max = 100'000'000;
constexpr std::int64_t data_alignment = 64;
constexpr std::int64_t number_max = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view metadata_key = "__metadata__";

constexpr std::array<std::pair<std::string_view, std::int64_t>, 13> dtype_bytes{{{"F64", 8},
                                                                                 {"F32", 4},
                                                                                 {"F16", 2},
                                                                                 {"BF16", 2},
                                                                                 {"I64", 8},
                                                                                 {"I32", 4},
                                                                                 {"I16", 2},
                                                                                 {"I8", 1},
                                                                                 {"U64", 8},
                                                                                 {"U32", 4},
                                                                                 {"U16", 2},
                                                                                 {"U8", 1},
                                                                                 {"BOOL", 1}}};

std::optional<std::int64_t> bytes_of(std::string_view dtype) {
  const auto* const found =
      std::ranges::find(dtype_bytes, dtype, &std::pair<std::string_view, std::int64_t>::first);
  if (found == dtype_bytes.end()) return std::nullopt;
  return found->second;
}

// The bytes of a tensor; none where the numbers do not fit or the dtype is unknown.
std::optional<std::int64_t> tensor_bytes(const SafetensorsEntry& entry) {
  std::optional<std::int64_t> total = bytes_of(entry.dtype);
  for (const std::int64_t extent : entry.shape) {
    std::int64_t product = 0;
    if (!total || extent < 0 || __builtin_mul_overflow(*total, extent, &product)) {
      return std::nullopt;
    }
    total = product;
  }
  return total;
}

std::vector<std::int64_t> read_numbers(const JsonPlace& place) {
  std::vector<std::int64_t> numbers;
  if (!place.value.is_array() || place.value.size() > 64) {
    place.fault("must be an array of at most 64 numbers, got " + describe(place.value));
    return numbers;
  }
  for (const json& number : place.value) {
    const JsonPlace item{number, child_pointer(place.pointer, std::to_string(numbers.size())),
                         place.faults};
    numbers.push_back(read_integer(item, {0, number_max}).value_or(0));
  }
  return numbers;
}

SafetensorsEntry read_entry(const std::string& name, const JsonPlace& place) {
  SafetensorsEntry entry;
  entry.name = name;
  const std::size_t faults_before = place.faults.size();
  Fields fields(place, Absence::is_a_fault);
  fields.text("dtype", entry.dtype, printable_rule(1, 16));
  if (const auto shape = fields.find("shape")) entry.shape = read_numbers(*shape);
  if (const auto offsets = fields.find("data_offsets")) {
    const std::vector<std::int64_t> range = read_numbers(*offsets);
    if (range.size() == 2) {
      entry.begin = range[0];
      entry.end = range[1];
    } else {
      offsets->fault("must be [begin, end]");
    }
  }
  fields.refuse_others();
  if (place.faults.size() > faults_before) return entry;

  const auto bytes = tensor_bytes(entry);
  if (!bytes) {
    place.fault("has a dtype that is unknown here, or a shape beyond all bounds");
  } else if (entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    place.fault("its data_offsets do not match its shape and dtype, " + std::to_string(*bytes) +
                " bytes");
  }
  return entry;
}

// One tensor after another, from the first byte to the last.
Status check_coverage(const std::vector<SafetensorsEntry>& entries, std::int64_t data_bytes) {
  std::int64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      return invalid("safetensors: tensor \"" + entry.name + "\" begins at byte " +
                     std::to_string(entry.begin) + " of the data, not at " +
                     std::to_string(covered) + ": a gap or an overlap");
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return invalid("safetensors: the header describes " + std::to_string(covered) +
                   " bytes of data, the file has " + std::to_string(data_bytes));
  }
  return ok();
}

}  // namespace

Result<std::string> encode_safetensors_header(SafetensorsHeader& header) {
  json object = json::object();
  if (!header.metadata.empty()) object[std::string(metadata_key)] = header.metadata;
  std::int64_t offset = 0;
  for (SafetensorsEntry& entry : header.entries) {
    const auto bytes = tensor_bytes(entry);
    entry.begin = offset;
    if (!bytes || __builtin_add_overflow(offset, *bytes, &offset)) {
      return invalid("safetensors: tensor \"" + entry.name +
                     "\" has a dtype that is unknown here, or a shape beyond all bounds");
    }
    entry.end = offset;
    if (object.contains(entry.name)) {
      return invalid("safetensors: there are two tensors \"" + entry.name + "\"");
    }
    object[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = to_text(object);
  while ((text.size() + length_field) % data_alignment != 0) text += ' ';
  header.data_start = length_field + static_cast<std::int64_t>(text.size());

  std::string first_bytes;
  for (int byte = 0; byte < length_field; ++byte) {
    first_bytes += static_cast<char>((text.size() >> (8 * byte)) & 0xFFU);
  }
  return first_bytes + text;
}

Result<std::int64_t> safetensors_header_length(std::string_view first_8_bytes) {
  if (first_8_bytes.size() < length_field) {
    return invalid("safetensors: the file is shorter than its length field");
  }
  std::uint64_t length = 0;
  for (std::size_t byte = 0; byte < length_field; ++byte) {
    length |= std::uint64_t{static_cast<unsigned char>(first_8_bytes[byte])} << (8 * byte);
  }
  if (length > header_length_max) {
    return invalid("safetensors: a header of " + std::to_string(length) +
                   " bytes is longer than 100 MB");
  }
  return static_cast<std::int64_t>(length);
}

Result<SafetensorsHeader> decode_safetensors_header(std::string_view text,
                                                    std::int64_t file_bytes) {
  TRY_ASSIGN(const std::int64_t length, safetensors_header_length(text));
  SafetensorsHeader header;
  header.data_start = length_field + length;
  if (std::cmp_less(text.size(), header.data_start) || file_bytes < header.data_start) {
    return invalid("safetensors: the file ends within its header");
  }
  TRY_ASSIGN(const json value,
             parse_json(text.substr(length_field, static_cast<std::size_t>(length)),
                        "safetensors header"));
  if (!value.is_object()) return invalid("safetensors: the header is no JSON object");

  std::vector<Fault> faults;
  for (const auto& [name, part] : value.items()) {
    const JsonPlace place{part, child_pointer("", name), faults};
    if (name == metadata_key) {
      const TextRule any{0, header_length_max, [](char) { return true; }, "any"};
      header.metadata = read_text_map(place, {100'000, any, any});
    } else {
      header.entries.push_back(read_entry(name, place));
    }
  }
  if (!faults.empty()) return to_error("safetensors header", faults);
  std::ranges::sort(header.entries, {}, [](const SafetensorsEntry& entry) {
    return std::tuple(entry.begin, entry.end, std::string_view(entry.name));
  });
  TRY(check_coverage(header.entries, file_bytes - header.data_start));
  return header;
}

}  // namespace trainyard
