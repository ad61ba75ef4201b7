#include "api/client/model_lines.h"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "api/client/json_read.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

constexpr std::size_t layers_shown_max = 24;
constexpr const char* untold = "?";

std::string count_text(std::optional<std::int64_t> count) {
  return count ? grouped(*count) : untold;
}

std::string memory_text(std::optional<std::int64_t> bytes) {
  return bytes ? bytes_text(*bytes) : untold;
}

// "28 x 28 x 1"; of one number an example "1".
std::string shape_text(const nlohmann::json& layer) {
  const nlohmann::json& shape = member_of(layer, "shape");
  if (!shape.is_array()) return untold;
  std::string text;
  for (const nlohmann::json& size : shape) {
    if (!text.empty()) text += " x ";
    text += size.is_number_integer() ? grouped(size.get<std::int64_t>()) : untold;
  }
  return text.empty() ? "1" : text;
}

// Numbers in rows of a table are made as they are learned.
std::string parameters_text(const nlohmann::json& layer) {
  for (const nlohmann::json& variable : list_of(layer, "variables")) {
    if (text_of(variable, "role") == "row_table") return "rows";
  }
  return count_text(integer_of(layer, "parameters"));
}

std::string layer_table(const nlohmann::json& layers) {
  const std::size_t left_out =
      layers.size() > layers_shown_max ? layers.size() - layers_shown_max : 0;
  Table table({{"LAYER"}, {"OP"}, {"SHAPE"}, {"PARAMETERS", Align::right}});
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool is_in_the_middle = i >= layers_shown_max / 2 && i < layers_shown_max / 2 + left_out;
    if (left_out > 0 && i == layers_shown_max / 2) {
      table.add({"... " + std::to_string(left_out) + " more", "", "", ""});
    }
    if (is_in_the_middle) continue;
    table.add({printable(text_of(layers[i], "name")), printable(text_of(layers[i], "op")),
               shape_text(layers[i]), parameters_text(layers[i])});
  }
  return table.text();
}

// Who needs memory for the model: its key in the answer, and what it is called.
struct MemoryHolder {
  const char* key;
  const char* words;
};

// "memory of a worker: 3.1 MiB (parameters 310 KiB, gradients 310 KiB)"; "" where the role has
// none.
std::string memory_line(const nlohmann::json& memory, const MemoryHolder& holder) {
  constexpr std::array<std::pair<const char*, const char*>, 5> parts{
      {{"parameters", "parameters"},
       {"gradients", "gradients"},
       {"slots", "optimizer"},
       {"kept", "kept for the backward pass"},
       {"scratch", "gradients on their way"}}};
  const nlohmann::json& of_role = member_of(memory, holder.key);
  if (!of_role.is_object()) return "";
  const auto total = integer_of(of_role, "total");
  if (total && *total == 0) return "";
  std::string listed;
  for (const auto& [key, words] : parts) {
    const auto bytes = integer_of(of_role, key);
    if (!bytes || *bytes == 0) continue;
    listed += (listed.empty() ? "" : ", ") + std::string(words) + " " + bytes_text(*bytes);
  }
  return std::string("memory of a ") + holder.words + ": " + memory_text(total) +
         (listed.empty() ? "" : " (" + listed + ")") + "\n";
}

}  // namespace

std::string model_lines(const nlohmann::json& model) {
  const nlohmann::json& layers = list_of(model, "layers");
  if (layers.empty()) return "";
  std::string lines = layer_table(layers);
  lines += "parameters: " + count_text(integer_of(model, "parameters"));
  if (const auto columns = integer_of(model, "row_columns"); columns && *columns > 0) {
    lines += ", and " + grouped(*columns) + " in a row of the tables";
  }
  lines += "\nFLOPs of an example: forward " + count_text(integer_of(model, "forward_flops")) +
           ", backward " + count_text(integer_of(model, "backward_flops")) + "\n";
  const nlohmann::json& memory = member_of(model, "memory_bytes");
  constexpr MemoryHolder holders[] = {{"worker", "worker"}, {"gpu", "worker's GPU"}, {"ps", "ps"}};
  for (const MemoryHolder& holder : holders) lines += memory_line(memory, holder);
  const bool has_unknown = lines.find(untold) != std::string::npos;
  return lines + (has_unknown ? "?: only the data's files tell\n" : "");
}

}  // namespace trainyard::client
