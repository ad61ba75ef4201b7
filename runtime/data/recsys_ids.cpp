#include "runtime/data/recsys_ids.h"

#include <algorithm>
#include <utility>

#include "runtime/core/row_layout.h"
#include "runtime/data/recsys_vocabulary.h"

namespace trainyard::runtime {
namespace {

// Of all columns: so that names that are never twice the same fill no memory.
constexpr std::size_t values_max = std::size_t{1} << 25;

}  // namespace

// FNV-1a (Fowler, Noll, Vo), mixed once more: its upper bits change little with the last byte.
std::uint64_t hash_of_cell(std::size_t column, std::string_view cell) {
  std::uint64_t hash = 0xCBF29CE484222325 ^ mix_id(static_cast<std::int64_t>(column));
  for (const char byte : cell) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001B3;
  }
  return mix_id(static_cast<std::int64_t>(hash));
}

void IdNumbering::set_columns(std::vector<std::size_t> columns, std::vector<std::string> names) {
  columns_ = std::move(columns);
  names_ = std::move(names);
  values_.resize(columns_.size());
}

Status IdNumbering::add(const std::vector<std::string>& cells) {
  const auto buckets = static_cast<std::uint64_t>(spec_.hash_buckets);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& cell = cells[columns_[i]];
    if (buckets > 0) {
      ids_.push_back(static_cast<std::int32_t>(hash_of_cell(columns_[i], cell) % buckets));
      continue;
    }
    if (cell.empty()) {
      ids_.push_back(0);
      continue;
    }
    Values& values = values_[i];
    const auto [found, is_new] =
        values.try_emplace(cell, Value{static_cast<std::int32_t>(values.size()) + 1});
    if (is_new && ++value_count_ > values_max) {
      return invalid("column " + std::to_string(columns_[i]) +
                     " (counted from 0): the columns have more than " + std::to_string(values_max) +
                     " distinct values; \"hash_buckets\" takes any number");
    }
    ++found->second.count;
    ids_.push_back(found->second.number);
  }
  return ok();
}

// By number: the id. The values that have one are added to `text`, a line each.
std::vector<std::int32_t> IdNumbering::vocabulary_of(const Values& values,
                                                     std::vector<char>& text) const {
  std::vector<const Values::value_type*> order;
  order.reserve(values.size());
  for (const auto& value : values) order.push_back(&value);
  std::ranges::sort(order, [](const auto* a, const auto* b) {
    if (a->second.count != b->second.count) return a->second.count > b->second.count;
    return a->first < b->first;
  });
  std::vector<std::int32_t> ids(values.size() + 1);
  const auto kept = std::min(order.size(), static_cast<std::size_t>(spec_.vocabulary) - 1);
  for (std::size_t i = 0; i < kept; ++i) {
    ids[static_cast<std::size_t>(order[i]->second.number)] = static_cast<std::int32_t>(i) + 1;
    add_value_line(order[i]->first, text);
  }
  return ids;
}

NumberedIds IdNumbering::take() && {
  NumberedIds numbered{.ids = std::move(ids_), .counts = {}, .values = {}};
  if (spec_.hash_buckets > 0) {
    numbered.counts.assign(columns_.size(), spec_.hash_buckets);
    return numbered;
  }
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    add_value_line(names_[column], numbered.values);
    const std::vector<std::int32_t> ids = vocabulary_of(values_[column], numbered.values);
    numbered.counts.push_back(
        std::min(std::ssize(values_[column]) + 1, static_cast<std::ptrdiff_t>(spec_.vocabulary)));
    for (std::size_t at = column; at < numbered.ids.size(); at += columns_.size()) {
      numbered.ids[at] = ids[static_cast<std::size_t>(numbered.ids[at])];
    }
  }
  return numbered;
}

}  // namespace trainyard::runtime
