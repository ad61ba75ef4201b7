#include "runtime/model/build.h"

#include <string>
#include <utility>

#include "runtime/model/graph_walk.h"
#include "schemas/model/trainable.h"

namespace trainyard::runtime {
namespace {

// A picture of one channel is [height, width, 1].
model::Sizes sizes_of(const DataShape& data) {
  if (data.example.size() == 2) return {data.example[0], data.example[1], 1};
  return data.example;
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
  model::Facts facts{.dataset = "data"};
  if (data.layout == FeatureLayout::sparse) {
    facts.fields = {{.name = "features",
                     .shape = model::Sizes{data.features},
                     .kind = model::ElementKind::sparse}};
  } else {
    const model::Sizes sizes = sizes_of(data);
    facts.fields = {{.name = sizes.size() == 3 ? "image" : "features", .shape = sizes}};
  }
  const bool has_classes = data.classes > 0;
  facts.label_kind = has_classes ? model::LabelKind::class_index : model::LabelKind::number;
  if (has_classes) facts.classes = data.classes;
  facts.features = data.features;
  return facts;
}

Result<BuiltModel> build_graph(const model::Written& written, const DataShape& data) {
  if (data.features < 1) return invalid("dataset: examples have no features");
  const model::Analysis analysis = model::analyse(written, facts_of(data), {});
  if (!analysis.faults.empty()) return to_error(analysis.faults);
  const std::vector<Fault> not_yet = model::not_trainable_yet(written, analysis, "/model");
  if (!not_yet.empty()) return to_error(not_yet);
  return GraphWalk(analysis).run();
}

}  // namespace trainyard::runtime
