// The part "model" of the job spec.
#include "schemas/model/zoo/zoo.h"
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/model_json.h"

namespace trainyard {

model::Written read_model(const JsonPlace& place) {
  auto written = model::parse_model(place.value, place.pointer, place.faults);
  if (!written) return {};
  if (const auto* const call = std::get_if<model::ZooCall>(&*written)) {
    return model::with_defaults(*call, place.pointer, place.faults);
  }
  return *std::move(written);
}

}  // namespace trainyard
