// How fast GPUs make products, as JSON: what trainyard-runtime --measure-gpu prints, what an agent
// keeps, and a part of task.json. Nothing in it is trusted.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/product_rates.h"
#include "schemas/wire/json_fields.h"

namespace trainyard {

// {"float32": 1.5, "bfloat16": 2.25}
nlohmann::json product_rates_to_json(const ProductRates& rates);
// A name that is no precision, and a number that is no rate, are faults.
ProductRates read_product_rates(const JsonPlace& place);

// One line, without its end. It has a rate at least.
std::string to_json(const MeasuredGpu& measured);
Result<MeasuredGpu> parse_measured_gpu(std::string_view text);

// The file of an agent: as many kinds as it may offer GPUs.
inline constexpr std::size_t kept_product_rates_max = 1024;
std::string to_json(const std::vector<KeptProductRates>& kept);
Result<std::vector<KeptProductRates>> parse_kept_product_rates(std::string_view text);

}  // namespace trainyard
