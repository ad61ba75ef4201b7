#include "schemas/model/outline.h"

#include <algorithm>
#include <vector>

namespace trainyard::model {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Lists within lists are as deep as the language allows. Around a member are quotes, a colon and a
// comma.
constexpr std::int64_t around = 8;
constexpr std::int64_t number_bytes = 32;

// A byte that is escaped becomes six.
std::int64_t bytes_of(const std::string& text) {
  const auto is_escaped = [](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F;
  };
  return std::ssize(text) + 5 * std::ranges::count_if(text, is_escaped) + around;
}

std::int64_t bytes_of(const std::vector<std::string>& texts) {
  std::int64_t bytes = around;
  for (const std::string& text : texts) bytes += bytes_of(text);
  return bytes;
}

std::int64_t bytes_of(const Arguments& arguments);

std::int64_t bytes_of(const Value& value) {
  return std::visit(Overloaded{[](double) { return number_bytes; }, [](bool) { return around; },
                               [](const std::string& text) { return bytes_of(text); },
                               [](const Value::List& list) {
                                 std::int64_t bytes = around;
                                 for (const Value& item : list) bytes += bytes_of(item);
                                 return bytes;
                               },
                               [](const Value::Object& object) { return bytes_of(object); }},
                    value.is);
}

std::int64_t bytes_of(const Arguments& arguments) {
  std::int64_t bytes = around;
  for (const Argument& argument : arguments) {
    bytes += bytes_of(argument.name) + bytes_of(argument.value);
  }
  return bytes;
}

constexpr std::int64_t keys_of_layer = 64;  // "residual", "shortcut", "name", "in"

std::int64_t bytes_of(const Layers& layers) {
  std::int64_t bytes = around;
  for (const Layer& layer : layers) {
    bytes += keys_of_layer + bytes_of(layer.name) + bytes_of(layer.in) + bytes_of(layer.arguments);
    bytes += std::visit(Overloaded{[](const OpLayer& op) { return bytes_of(op.op); },
                                   [](const UseLayer& use) { return bytes_of(use.block); },
                                   [](const RepeatLayer& repeat) {
                                     return bytes_of(repeat.times) + bytes_of(repeat.layers);
                                   },
                                   [](const ResidualLayer& residual) {
                                     return bytes_of(residual.layers) + bytes_of(residual.shortcut);
                                   }},
                        layer.what);
  }
  return bytes;
}

std::int64_t bytes_of(const std::vector<Term>& terms) {
  std::int64_t bytes = around;
  for (const Term& term : terms) {
    bytes += keys_of_layer + bytes_of(term.op) + bytes_of(term.in) + bytes_of(term.target) +
             bytes_of(term.arguments);
  }
  return bytes;
}

std::int64_t bytes_of(const Model& model) {
  constexpr std::int64_t keys_of_model = 128;
  std::int64_t bytes =
      keys_of_model + bytes_of(model.layers) + bytes_of(model.losses) + bytes_of(model.metrics);
  if (model.init) bytes += bytes_of(*model.init);
  for (const Input& input : model.inputs) bytes += bytes_of(input.name) + bytes_of(input.field);
  for (const Definition& definition : model.define) {
    bytes += bytes_of(definition.name) + number_bytes;
  }
  for (const Block& block : model.blocks) {
    bytes +=
        keys_of_layer + bytes_of(block.name) + bytes_of(block.parameters) + bytes_of(block.layers);
  }
  return bytes;
}

}  // namespace

std::string name_of(const Written& written) {
  const auto* const call = std::get_if<ZooCall>(&written);
  return call == nullptr ? "layers" : call->name;
}

std::string words_of(const Written& written) {
  std::string words = name_of(written);
  const auto* const call = std::get_if<ZooCall>(&written);
  const Value* const hidden = call == nullptr ? nullptr : find(call->arguments, "hidden");
  if (hidden == nullptr || hidden->list() == nullptr) return words;
  std::string widths;
  for (const Value& width : *hidden->list()) {
    if (width.number() == nullptr) continue;
    if (!widths.empty()) widths += ", ";
    widths += std::to_string(static_cast<std::int64_t>(*width.number()));
  }
  return words.append(" [").append(widths).append("]");
}

std::string text_argument(const Written& written, std::string_view name) {
  const auto* const call = std::get_if<ZooCall>(&written);
  const Value* const value = call == nullptr ? nullptr : find(call->arguments, name);
  return value == nullptr || value->text() == nullptr ? std::string() : *value->text();
}

std::int64_t json_bytes_max(const Written& written) {
  if (const auto* const model = std::get_if<Model>(&written)) return bytes_of(*model);
  const auto& call = std::get<ZooCall>(written);
  return bytes_of(call.name) + bytes_of(call.arguments);
}

}  // namespace trainyard::model
