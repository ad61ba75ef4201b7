#include "runtime/data/labels.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace trainyard::runtime {
namespace {

// The largest class number where all cells are whole numbers and every number up to it occurs.
std::optional<std::int64_t> largest_class(std::span<const LabelCell> cells) {
  std::vector<bool> seen;
  for (const LabelCell& cell : cells) {
    const auto number = parse_whole_number(cell.text);
    if (!number || *number >= std::ssize(cells))
      return std::nullopt;  // some number below is missing
    const auto index = static_cast<std::size_t>(*number);
    if (index >= seen.size()) seen.resize(index + 1);
    seen[index] = true;
  }
  if (seen.size() < 2 || std::ranges::find(seen, false) != seen.end()) return std::nullopt;
  return std::ssize(seen) - 1;
}

Labels numbered_classes(std::span<const LabelCell> cells, std::int64_t largest) {
  Labels labels{.classes = largest + 1, .labels = {}, .targets = {}};
  for (const LabelCell& cell : cells) {
    labels.labels.push_back(static_cast<std::int32_t>(*parse_whole_number(cell.text)));
  }
  return labels;
}

Result<Labels> named_classes(std::span<const LabelCell> cells) {
  std::vector<std::string> names;
  for (const LabelCell& cell : cells) names.push_back(cell.text);
  std::ranges::sort(names);
  // Not of std::ranges: clang 14 refuses the subrange.
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() < 2) return invalid("all labels are the same: one class only");
  Labels labels{.classes = std::ssize(names), .labels = {}, .targets = {}};
  for (const LabelCell& cell : cells) {
    const auto found = std::ranges::lower_bound(names, cell.text);
    labels.labels.push_back(static_cast<std::int32_t>(found - names.begin()));
  }
  labels.names = std::move(names);
  return labels;
}

}  // namespace

std::optional<float> parse_number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || end != cell.data() + cell.size()) return std::nullopt;
  // Of a number that is too large or too small for a float from_chars says no more than that.
  if (error == std::errc::result_out_of_range) {
    const double rough = std::strtod(std::string(cell).c_str(), nullptr);
    if (std::abs(rough) < 1) return std::copysign(0.0F, static_cast<float>(rough));
  }
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_written_as_number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  float ignored = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), ignored);
  return error != std::errc::invalid_argument && end == cell.data() + cell.size();
}

std::optional<std::int64_t> parse_whole_number(std::string_view cell) {
  if (cell.empty() || cell.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

Result<Labels> read_labels(std::span<const LabelCell> cells) {
  const auto is_zero = [](const LabelCell& cell) { return parse_whole_number(cell.text) == 0; };
  if (std::ranges::all_of(cells, is_zero)) {
    return invalid("all labels are 0: one class only (as real numbers they are 0.0)");
  }
  if (const auto largest = largest_class(cells)) return numbered_classes(cells, *largest);
  Labels labels;
  const LabelCell* first_name = nullptr;
  for (const LabelCell& cell : cells) {
    const auto number = parse_number(cell.text);
    if (number) labels.targets.push_back(*number);
    if (!number && first_name == nullptr) first_name = &cell;
  }
  if (first_name == nullptr) return labels;
  if (2 * labels.targets.size() > cells.size()) {
    return invalid("line " + std::to_string(first_name->line) +
                   ": expected a label that is a number, as most are");
  }
  return named_classes(cells);
}

}  // namespace trainyard::runtime
