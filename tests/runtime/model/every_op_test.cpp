// Every op of the language, on every kind of data: refused by the analysis, or built and computed.
#include "tests/runtime/model/every_op.h"

#include <catch2/catch.hpp>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/activation.h"
#include "runtime/model/row_batch.h"
#include "schemas/model/ops/activation.h"

namespace trainyard::runtime {
namespace {

using namespace every_op;  // NOLINT: this file is about it

// Whether it was computed; false: it was refused, with words.
bool runs(model::Model written, const Data& data, const std::string& field) {
  written.inputs = {{"x", field}};
  auto model = Model::build(written, data.shape, {data.batch.examples});
  if (!model) {
    CHECK(model.error().code == Code::invalid);
    CHECK_FALSE(model.error().message.empty());
    return false;
  }
  AlignedBuffer parameters(static_cast<std::size_t>(model->arena_elements()));
  AlignedBuffer gradients(parameters.size());
  model->initialize(1, parameters.span());
  RowBatch rows = model->row_batch();
  RowBatch* const table = model->rows().empty() ? nullptr : &rows;
  if (table != nullptr) rows.assign(data.batch);
  const BatchResult result =
      model->gradient(parameters.span(), data.batch, gradients.span(), {}, table);
  CHECK(result.examples == data.batch.examples);
  model->evaluate(parameters.span(), data.batch, table);
  return true;
}

}  // namespace

TEST_CASE("of an activation is counted as kept what its gradient reads", "[model]") {
  CHECK(model::activation_names().size() == std::size(nonlinearities));
  for (const NamedNonlinearity& each : nonlinearities) {
    INFO(each.name);
    CHECK((model::gradient_of_activation_reads(each.name) == model::Reads::input) ==
          (gradient_reads(each.kind) == Side::input));
  }
}

TEST_CASE("every op of the language is computed on some data, and on all other data refused",
          "[model]") {
  for (const model::OpRule& rule : model::ops()) {
    INFO(rule.name);
    int computed = 0;
    for (const Data& data : all_data()) {
      INFO("example of " << data.shape.example.size() << " axes, layout "
                         << static_cast<int>(data.shape.layout));
      for (const model::Model& written : models_of(rule, data.shape.example.size())) {
        if (runs(written, data, field_of(data))) ++computed;
      }
    }
    CHECK(computed > 0);
  }
}

}  // namespace trainyard::runtime
