#include "schemas/wire/data_description.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schemas/base/utf8.h"
#include "schemas/model/analysis.h"
#include "schemas/model/shape.h"
#include "schemas/types/names.h"
#include "schemas/wire/json_text.h"

namespace trainyard {
namespace {

constexpr NameTable<model::LabelKind, 4> label_names{{{model::LabelKind::class_index, "classes"},
                                                      {model::LabelKind::number, "number"},
                                                      {model::LabelKind::symbols, "symbols"},
                                                      {model::LabelKind::tokens, "tokens"}}};

Error no_size(const std::string& key, const std::string& text) {
  return conflict("the checkpoint's description has \"" + key + "\": \"" + text.substr(0, 100) +
                  "\", which is no size");
}

std::optional<std::int64_t> size_of(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto size = value.get<std::int64_t>();
  return size >= 1 && size <= model::elements_max ? std::optional(size) : std::nullopt;
}

// Nothing: it is not there.
Result<std::optional<model::Sizes>> read_sizes(const Description& description,
                                               const std::string& key) {
  const auto found = description.find(key);
  if (found == description.end()) return std::optional<model::Sizes>();
  const auto value = parse_json(found->second, key);
  if (!value) return no_size(key, found->second);
  const nlohmann::json list = value->is_array() ? *value : nlohmann::json::array({*value});
  if (list.size() > model::rank_max) return no_size(key, found->second);
  model::Sizes sizes;
  for (const nlohmann::json& item : list) {
    const auto size = size_of(item);
    if (!size) return no_size(key, found->second);
    sizes.push_back(*size);
  }
  return std::optional(sizes);
}

Status read_data_count(const Description& description, const std::string& key,
                       std::optional<std::int64_t>& count) {
  TRY_ASSIGN(const auto sizes, read_sizes(description, key));
  if (!sizes) return ok();
  if (sizes->size() != 1) return no_size(key, description.at(key));
  if (count && !model::may_be_equal(*count, sizes->front())) {
    return conflict("the checkpoint is of " + std::to_string(sizes->front()) + " " + key +
                    ", and the job's data set has " + std::to_string(*count));
  }
  count = sizes->front();
  return ok();
}

bool is_unknown(const std::optional<std::int64_t>& count) {
  return count && *count == model::unknown_size;
}

// Numbers that no model has by chance, each in the place of a size that is not known: where one
// turns up in a variable's shape, the checkpoint has the size.
class Markers {
 public:
  void put(std::int64_t& size) {
    if (size != model::unknown_size) return;
    size = next_;
    sizes_.push_back(next_++);
  }
  void put(std::optional<std::int64_t>& size) {
    if (size) put(*size);
  }

  // What stands in its place in the checkpoint, if anything does.
  void resolve(std::int64_t& size, const model::Analysis& marked,
               const std::vector<VariableInfo>& variables) const {
    if (std::ranges::find(sizes_, size) == sizes_.end()) return;
    const std::int64_t marker = size;
    size = model::unknown_size;
    for (const VariableInfo& variable : variables) {
      const auto same = std::ranges::find(marked.variables, variable.name, &model::Variable::name);
      if (same == marked.variables.end() || same->shape.size() != variable.shape.size()) continue;
      const auto at = std::ranges::find(same->shape, marker);
      if (at == same->shape.end()) continue;
      size = variable.shape[static_cast<std::size_t>(at - same->shape.begin())];
      return;
    }
  }
  void resolve(std::optional<std::int64_t>& size, const model::Analysis& marked,
               const std::vector<VariableInfo>& variables) const {
    if (size) resolve(*size, marked, variables);
  }

 private:
  std::int64_t next_ = 1'000'003;
  std::vector<std::int64_t> sizes_;
};

// "": there are none that could be written.
std::string class_names_text(std::span<const std::string> names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  if (names.empty() || bytes > class_names_bytes_max) return "";
  if (!std::ranges::all_of(names, is_valid_utf8)) return "";
  std::string text = to_text(nlohmann::json(std::vector(names.begin(), names.end())));
  return text.size() <= class_names_bytes_max ? text : "";
}

}  // namespace

Description describe_data(const model::Facts& facts, std::span<const std::string> class_names) {
  Description description;
  const bool has_one_field = facts.fields.size() == 1 && facts.fields.front().shape;
  if (has_one_field) {
    description["example"] = to_text(nlohmann::json(*facts.fields.front().shape));
  }
  const std::string_view labels = find_name(label_names, facts.label_kind);
  if (!labels.empty()) description["labels"] = labels;
  const auto count = [&](const char* key, const std::optional<std::int64_t>& number) {
    if (number && model::is_known(*number)) description[key] = std::to_string(*number);
  };
  count("classes", facts.classes);
  count("vocabulary", facts.vocabulary);
  count("symbols", facts.symbols);
  std::string names = class_names_text(class_names);
  if (!names.empty()) description[class_names_key] = std::move(names);
  return description;
}

Result<model::Facts> with_description(model::Facts facts, const Description& description) {
  if (facts.fields.size() == 1) {
    model::Field& field = facts.fields.front();
    TRY_ASSIGN(const auto sizes, read_sizes(description, "example"));
    if (sizes && !model::may_be_equal(field.shape, model::MaybeShape(*sizes))) {
      return conflict("the checkpoint's examples are " + model::to_text(*sizes) +
                      ", and the job's data set has " + model::to_text(field.shape));
    }
    if (sizes) field.shape = *sizes;
    if (is_unknown(facts.features)) {
      facts.features = model::size_or_unknown(model::elements(field.shape));
    }
  }
  if (const auto labels = description.find("labels"); labels != description.end()) {
    const auto kind = find_value(label_names, labels->second);
    if (kind) facts.label_kind = *kind;
  }
  if (facts.label_kind == model::LabelKind::number) facts.classes.reset();
  TRY(read_data_count(description, "classes", facts.classes));
  TRY(read_data_count(description, "vocabulary", facts.vocabulary));
  TRY(read_data_count(description, "symbols", facts.symbols));
  for (model::Field& field : facts.fields) {
    const bool is_of_ids = field.kind == model::ElementKind::id && !model::is_known(field.ids);
    if (is_of_ids && facts.vocabulary) field.ids = *facts.vocabulary;
  }
  return facts;
}

model::Facts with_variables(model::Facts facts, const model::Written& written,
                            const std::vector<VariableInfo>& variables) {
  Markers markers;
  model::Facts marked = std::move(facts);
  markers.put(marked.classes);
  markers.put(marked.vocabulary);
  markers.put(marked.symbols);
  for (model::Field& field : marked.fields) {
    if (field.kind == model::ElementKind::id) {
      field.ids = marked.vocabulary.value_or(field.ids);
      markers.put(field.ids);  // of a field with a vocabulary of its own
    }
    // Of features in a row; of the sizes of an image no variable tells.
    if (field.shape && field.shape->size() == 1) markers.put(field.shape->front());
  }
  const model::Analysis analysis = model::analyse(written, marked, {});
  markers.resolve(marked.classes, analysis, variables);
  markers.resolve(marked.vocabulary, analysis, variables);
  markers.resolve(marked.symbols, analysis, variables);
  for (model::Field& field : marked.fields) {
    if (field.kind == model::ElementKind::id) {
      markers.resolve(field.ids, analysis, variables);
      field.ids = marked.vocabulary.value_or(field.ids);
    }
    if (field.shape && field.shape->size() == 1) {
      markers.resolve(field.shape->front(), analysis, variables);
      if (is_unknown(marked.features)) marked.features = field.shape->front();
    }
  }
  return marked;
}

}  // namespace trainyard
