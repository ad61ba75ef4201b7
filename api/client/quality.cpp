#include "api/client/quality.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "api/client/text.h"

namespace trainyard::client {
namespace {

constexpr std::string_view of_test = "test_";

// What a person would ask for first comes first. A name that ends in "_" has a number behind it.
constexpr std::array<std::string_view, 8> qualities{
    "recall_", "auc",           "accuracy",   "sequence_accuracy",
    "top_",    "edit_distance", "perplexity", "mean_absolute_error"};

bool is_number_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_named(std::string_view name, std::string_view quality) {
  if (!quality.ends_with('_')) return name == quality;
  return name.starts_with(quality) && is_number_text(name.substr(quality.size()));
}

std::size_t place_among_qualities(std::string_view name) {
  const auto found = std::ranges::find_if(
      qualities, [name](std::string_view quality) { return is_named(name, quality); });
  return static_cast<std::size_t>(found - qualities.begin());
}

}  // namespace

bool is_quality(std::string_view name) { return place_among_qualities(name) < qualities.size(); }

std::optional<Quality> quality_of(const std::map<std::string, double>& metrics, MetricSplit split) {
  std::optional<Quality> best;
  for (const auto& [full_name, value] : metrics) {
    std::string_view name = full_name;
    if (name.starts_with(of_test) != (split == MetricSplit::test)) continue;
    if (split == MetricSplit::test) name.remove_prefix(of_test.size());
    if (!is_quality(name)) continue;
    if (best && place_among_qualities(best->name) <= place_among_qualities(name)) continue;
    best = Quality{.name = std::string(name), .value = value};
  }
  return best;
}

std::string words_of(const Quality& quality) {
  std::string words = quality.name;
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string cell_of(const std::optional<Quality>& quality) {
  return quality ? quality->name + " " + decimal_text(quality->value) : "-";
}

}  // namespace trainyard::client
