// The parts "normalize" and "augment" of a job's data set.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schemas/types/image_spec.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

// `channels` of the images: as many numbers, or one, are right; nothing where the files tell it.
NormalizeSpec read_normalize(const JsonPlace& place, std::optional<std::int64_t> channels);
nlohmann::json normalize_to_json(const NormalizeSpec& normalize);

std::vector<AugmentSpec> read_augment(const JsonPlace& place);
nlohmann::json augment_to_json(const std::vector<AugmentSpec>& ops);

}  // namespace trainyard
