#include "schemas/wire/product_rates_json.h"

#include <limits>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/types/precision_names.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr TextRule gpu_name_rule = printable_rule(1, 255);
constexpr TextRule build_rule = printable_rule(0, 255);
constexpr std::int64_t integer_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t integer_min = std::numeric_limits<std::int64_t>::min();

void read_rates_of(Fields& fields, ProductRates& rates) {
  const auto part = fields.require("product_tflops");
  if (!part) return;
  rates = read_product_rates(*part);
  if (rates.empty()) part->fault("has no rate");
}

KeptProductRates read_kept(const JsonPlace& place) {
  KeptProductRates kept;
  Fields fields(place, Absence::is_a_fault);
  fields.text("gpu", kept.gpu, gpu_name_rule);
  fields.text("version", kept.version, build_rule);
  fields.integer("plugin_bytes", kept.plugin_bytes, {0, integer_max});
  fields.integer("plugin_changed", kept.plugin_changed, {integer_min, integer_max});
  read_rates_of(fields, kept.rates);
  fields.refuse_others();
  return kept;
}

}  // namespace

json product_rates_to_json(const ProductRates& rates) {
  json object = json::object();
  for (const auto& [precision, tflops] : rates) {
    object[std::string(find_name(precision_names, precision))] = tflops;
  }
  return object;
}

ProductRates read_product_rates(const JsonPlace& place) {
  ProductRates rates;
  Fields fields(place);
  for (const auto& [precision, name] : precision_names) {
    const auto part = fields.find(name);
    if (!part) continue;
    const auto tflops = read_number(*part, {0, product_tflops_max});
    if (!tflops) continue;
    if (is_product_rate(*tflops)) {
      rates[precision] = *tflops;
    } else {
      part->fault("must be 1e-9 or more");
    }
  }
  fields.refuse_others();
  return rates;
}

std::string to_json(const MeasuredGpu& measured) {
  return to_text({{"gpu", measured.name},
                  {"build", measured.build},
                  {"product_tflops", product_rates_to_json(measured.rates)}});
}

Result<MeasuredGpu> parse_measured_gpu(std::string_view text) {
  constexpr std::string_view document = "the measurement";
  TRY_ASSIGN(const json value, parse_json(text, document));
  std::vector<Fault> faults;
  MeasuredGpu measured;
  Fields fields({value, "", faults}, Absence::is_a_fault);
  fields.text("gpu", measured.name, gpu_name_rule);
  fields.text("build", measured.build, build_rule);
  read_rates_of(fields, measured.rates);
  fields.refuse_others();
  if (!faults.empty()) return to_error(document, faults);
  return measured;
}

std::string to_json(const std::vector<KeptProductRates>& all) {
  json items = json::array();
  for (const KeptProductRates& kept : all) {
    items.push_back({{"gpu", kept.gpu},
                     {"version", kept.version},
                     {"plugin_bytes", kept.plugin_bytes},
                     {"plugin_changed", kept.plugin_changed},
                     {"product_tflops", product_rates_to_json(kept.rates)}});
  }
  return to_text(items) + "\n";
}

Result<std::vector<KeptProductRates>> parse_kept_product_rates(std::string_view text) {
  constexpr std::string_view document = "the kept rates";
  TRY_ASSIGN(const json value, parse_json(text, document));
  if (!value.is_array() || value.size() > kept_product_rates_max) {
    return invalid(std::string(document) + " are no array of at most " +
                   std::to_string(kept_product_rates_max));
  }
  std::vector<Fault> faults;
  std::vector<KeptProductRates> all;
  for (const json& item : value) {
    all.push_back(read_kept({item, child_pointer("", std::to_string(all.size())), faults}));
  }
  if (!faults.empty()) return to_error(document, faults);
  return all;
}

}  // namespace trainyard
