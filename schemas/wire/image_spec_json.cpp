#include "schemas/wire/image_spec_json.h"

#include <string>
#include <utility>

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::size_t channels_max = 64;
constexpr std::size_t augment_ops_max = 16;
constexpr NumberRange mean_range{-1000, 1000};
constexpr NumberRange stddev_range{1e-6, 1000};

constexpr NameTable<ImageAxis, 2> axis_names{
    {{ImageAxis::height, "height"}, {ImageAxis::width, "width"}}};

enum class AugmentOp { crop, flip, random_resized_crop, cutout, brightness };
constexpr NameTable<AugmentOp, 5> augment_names{
    {{AugmentOp::crop, "crop"},
     {AugmentOp::flip, "flip"},
     {AugmentOp::random_resized_crop, "random_resized_crop"},
     {AugmentOp::cutout, "cutout"},
     {AugmentOp::brightness, "brightness"}}};

// One of an array's items.
JsonPlace item_of(const JsonPlace& place, std::size_t index) {
  return {place.value[index], child_pointer(place.pointer, std::to_string(index)), place.faults};
}

// A number, or an array of them.
std::vector<double> read_numbers(const JsonPlace& place, NumberRange range,
                                 std::optional<std::int64_t> channels) {
  if (!place.value.is_array()) return {read_number(place, range).value_or(1)};
  const std::size_t count = place.value.size();
  const bool fits = channels ? count == 1 || std::cmp_equal(count, *channels)
                             : count >= 1 && count <= channels_max;
  if (!fits) {
    const std::string wanted = channels ? std::to_string(*channels) : "1 to 64";
    place.fault("must be one number, or " + wanted + ", one for each channel; got " +
                std::to_string(count));
    return {1};
  }
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(read_number(item_of(place, i), range).value_or(1));
  }
  return numbers;
}

RandomResizedCropSpec read_scale(Fields& fields) {
  RandomResizedCropSpec crop;
  const auto place = fields.find("scale");
  if (!place) return crop;
  if (!place->value.is_array() || place->value.size() != 2) {
    place->fault("must be [least, most], shares of the image's area, got " +
                 describe(place->value));
    return crop;
  }
  const auto least = read_number(item_of(*place, 0), {0.01, 1});
  const auto most = read_number(item_of(*place, 1), {0.01, 1});
  if (!least || !most) return crop;
  if (*least > *most) {
    place->fault("must be [least, most], but the first is larger");
    return crop;
  }
  return {.scale_least = *least, .scale_most = *most};
}

AugmentSpec read_op(Fields& fields, AugmentOp op) {
  switch (op) {
    case AugmentOp::crop: {
      CropSpec crop;
      fields.require("padding");
      fields.integer("padding", crop.padding, {1, 1024});
      return crop;
    }
    case AugmentOp::flip: {
      FlipSpec flip;
      fields.choice("axis", flip.axis, axis_names);
      return flip;
    }
    case AugmentOp::random_resized_crop: return read_scale(fields);
    case AugmentOp::cutout: {
      CutoutSpec cutout;
      fields.require("size");
      fields.integer("size", cutout.size, {1, 2048});
      return cutout;
    }
    case AugmentOp::brightness: break;
  }
  BrightnessSpec brightness;
  fields.require("amount");
  fields.number("amount", brightness.amount, {0.001, 1});
  return brightness;
}

std::optional<AugmentSpec> read_item(const JsonPlace& place) {
  const std::size_t faults_before = place.faults.size();
  Fields fields(place);
  if (!fields.require("op")) return std::nullopt;
  AugmentOp op = AugmentOp::crop;
  fields.choice("op", op, augment_names);
  if (place.faults.size() > faults_before) return std::nullopt;  // its fields are anyone's guess
  AugmentSpec spec = read_op(fields, op);
  fields.refuse_others();
  return spec;
}

struct PrintOp {
  json operator()(const CropSpec& crop) const {
    return {{"op", "crop"}, {"padding", crop.padding}};
  }
  json operator()(const FlipSpec& flip) const {
    return {{"op", "flip"}, {"axis", find_name(axis_names, flip.axis)}};
  }
  json operator()(const RandomResizedCropSpec& crop) const {
    return {{"op", "random_resized_crop"},
            {"scale", json::array({crop.scale_least, crop.scale_most})}};
  }
  json operator()(const CutoutSpec& cutout) const {
    return {{"op", "cutout"}, {"size", cutout.size}};
  }
  json operator()(const BrightnessSpec& brightness) const {
    return {{"op", "brightness"}, {"amount", brightness.amount}};
  }
};

}  // namespace

NormalizeSpec read_normalize(const JsonPlace& place, std::optional<std::int64_t> channels) {
  NormalizeSpec normalize{.mean = {0}, .stddev = {1}};
  Fields fields(place);
  if (const auto mean = fields.require("mean")) {
    normalize.mean = read_numbers(*mean, mean_range, channels);
  }
  if (const auto stddev = fields.require("stddev")) {
    normalize.stddev = read_numbers(*stddev, stddev_range, channels);
  }
  fields.refuse_others();
  return normalize;
}

json normalize_to_json(const NormalizeSpec& normalize) {
  return {{"mean", normalize.mean}, {"stddev", normalize.stddev}};
}

std::vector<AugmentSpec> read_augment(const JsonPlace& place) {
  std::vector<AugmentSpec> ops;
  if (!place.value.is_array() || place.value.size() > augment_ops_max) {
    place.fault(
        "must be an array of at most " + std::to_string(augment_ops_max) + " ops, got " +
        (place.value.is_array() ? std::to_string(place.value.size()) : describe(place.value)));
    return ops;
  }
  for (std::size_t i = 0; i < place.value.size(); ++i) {
    if (auto op = read_item(item_of(place, i))) ops.push_back(*std::move(op));
  }
  return ops;
}

json augment_to_json(const std::vector<AugmentSpec>& ops) {
  json array = json::array();
  for (const AugmentSpec& op : ops) array.push_back(std::visit(PrintOp{}, op));
  return array;
}

}  // namespace trainyard
