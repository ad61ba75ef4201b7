#include "runtime/model/build.h"

#include <string>
#include <utility>

#include "runtime/model/graph_walk.h"
#include "schemas/model/data_time.h"
#include "schemas/model/trainable.h"
#include "schemas/types/recsys_spec.h"

namespace trainyard::runtime {
namespace {

// A picture of one channel is [height, width, 1].
model::Sizes sizes_of(const DataShape& data) {
  if (data.example.size() == 2) return {data.example[0], data.example[1], 1};
  return data.example;
}

// As schemas/wire/dataset_facts has them.
std::vector<model::Field> column_fields(const DataShape& data) {
  std::vector<model::Field> fields;
  for (const IdFieldShape& field : data.id_fields) {
    fields.push_back({.name = field.name,
                      .shape = field.example,
                      .kind = model::ElementKind::id,
                      .ids = field.ids});
  }
  const std::int64_t numeric = data.features - std::ssize(data.log_frequency_fields);
  if (numeric > 0) fields.push_back({.name = numeric_field, .shape = model::Sizes{numeric}});
  for (const std::string& name : data.log_frequency_fields) {
    fields.push_back({.name = name, .shape = model::Sizes{1}});
  }
  return fields;
}

std::vector<model::Field> fields_of(const DataShape& data) {
  switch (data.layout) {
    case FeatureLayout::columns: return column_fields(data);
    case FeatureLayout::sparse:
      return {{.name = "features",
               .shape = model::Sizes{data.features},
               .kind = model::ElementKind::sparse}};
    case FeatureLayout::ids:
      return {{.name = "tokens",
               .shape = data.example,
               .kind = model::ElementKind::id,
               .ids = data.vocabulary}};
    case FeatureLayout::sequence: return {{.name = "features", .shape = data.example}};
    case FeatureLayout::dense: break;
  }
  const model::Sizes sizes = sizes_of(data);
  return {{.name = sizes.size() == 3 ? "image" : "features", .shape = sizes}};
}

// A task does not look at the size of its micro-batches again: the server has held them against the
// model when it took the job. Two examples are enough for any layer.
model::Setting setting_of_task() {
  model::Setting setting;
  setting.micro_batch = 2;
  return setting;
}

Error to_error(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    if (!text.empty()) text += "; ";
    text.append(fault.pointer).append(": ").append(fault.message);
  }
  return invalid(text);
}

}  // namespace

model::Facts facts_of(const DataShape& data) {
  model::Facts facts{.dataset = "", .fields = fields_of(data)};
  switch (data.labels) {
    case LabelLayout::one:
      facts.label_kind =
          data.classes > 0 ? model::LabelKind::class_index : model::LabelKind::number;
      if (data.classes > 0) facts.classes = data.classes;
      break;
    case LabelLayout::symbols:
      facts.label_kind = model::LabelKind::symbols;
      facts.symbols = data.symbols;
      break;
    case LabelLayout::tokens: facts.label_kind = model::LabelKind::tokens; break;
    case LabelLayout::none: facts.label_kind = model::LabelKind::none; break;
  }
  if (data.layout == FeatureLayout::ids) {
    facts.vocabulary = data.vocabulary;
  } else if (data.layout != FeatureLayout::columns) {
    facts.features = data.features;
  }
  return facts;
}

DataShape of_length(const DataShape& data, std::int64_t length) {
  DataShape shape = data;
  shape.buckets.clear();
  if (data.buckets.empty()) return shape;
  shape.example = {length};
  shape.features = length;
  return shape;
}

Result<std::vector<BuiltModel>> build_bucket_graphs(const model::Written& written,
                                                    const DataShape& data) {
  std::vector<BuiltModel> built;
  TRY_ASSIGN(BuiltModel longest, build_graph(written, data));
  built.push_back(std::move(longest));
  if (data.buckets.empty()) return built;
  const model::Analysis analysis = model::analyse(written, facts_of(data), setting_of_task());
  const std::vector<Fault> faults = model::faults_of_buckets(analysis, "dataset.buckets");
  if (!faults.empty()) return to_error(faults);
  for (std::size_t i = data.buckets.size(); i-- > 1;) {
    const std::int64_t length = data.buckets[i - 1];
    TRY_ASSIGN(BuiltModel shorter, build_graph(written, of_length(data, length)));
    if (!shorter.builder.graph.follow(built.front().builder.graph)) {
      return invalid("dataset.buckets: with " + std::to_string(length) +
                     " tokens the model has other layers than with " +
                     std::to_string(data.features));
    }
    built.push_back(std::move(shorter));
  }
  return built;
}

Result<BuiltModel> build_graph(const model::Written& written, const DataShape& data) {
  if (data.features < 1 && data.id_fields.empty())
    return invalid("dataset: examples have no features");
  return build_graph(written, facts_of(data));
}

Result<BuiltModel> build_graph(const model::Written& written, const model::Facts& facts) {
  const model::Analysis analysis = model::analyse(written, facts, setting_of_task());
  if (!analysis.faults.empty()) return to_error(analysis.faults);
  const std::vector<Fault> not_yet = model::not_trainable_yet(written, analysis, "/model");
  if (!not_yet.empty()) return to_error(not_yet);
  BuiltModel built = GraphWalk(analysis, facts).run();
  built.step_flops = analysis.forward_flops.value_or(0) + analysis.backward_flops.value_or(0);
  return built;
}

}  // namespace trainyard::runtime
