#include "runtime/math/rows/row_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/core/counter_rng.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t block_rows = 1024;
// How far ahead of their use rows are fetched: memory answers in about the time of so many.
constexpr std::size_t fetch_ahead = 24;
// Rows that are read or updated together: enough to hide the beginning, few enough for the cache.
constexpr std::size_t rows_at_once = 256;
constexpr std::size_t floats_per_line = 16;

void copy_floats(const float* from, std::size_t count, float* to) {
  std::memcpy(to, from, count * sizeof(float));
}

// [0, 1), the 24 bits that a float holds.
float unit_of(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

// Four elements come of one block of random bits.
void fill_uniform(const CounterRng& rng, std::int64_t id, float bound, std::span<float> out) {
  const std::size_t blocks = (out.size() + 3) / 4;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto words = rng.block(static_cast<std::uint64_t>(id) * blocks + block);
    for (std::size_t i = 4 * block; i < std::min(out.size(), 4 * block + 4); ++i) {
      out[i] = bound * (2.0F * unit_of(words[i % 4]) - 1.0F);
    }
  }
}

}  // namespace

RowTable::RowTable(RowLayout layout, std::uint64_t seed, const OptimizerConfig& optimizer,
                   std::int64_t table)
    : layout_(std::move(layout)),
      table_(table),
      seed_(seed),
      optimizer_(optimizer),
      width_(static_cast<std::uint32_t>(layout_.width(table))),
      stride_(std::size_t{width_} * (1 + slot_names(optimizer.kind).size())),
      index_{std::make_shared<RowIndex>()},
      pool_(block_rows * stride_) {
  ENSURE(width_ >= 1 && layout_.width(table) == std::int64_t{width_});
}

RowTable RowTable::fork() {
  index_.lent = true;
  for (Lent<Block>& block : blocks_) block.lent = true;
  return *this;
}

void RowTable::start_row(std::int64_t id, std::span<float> row) const {
  std::size_t begin = 0;
  std::uint32_t number = 0;
  for (const RowVariable& variable : layout_.variables) {
    if (variable.table != table_) {
      ++number;
      continue;
    }
    const auto columns = static_cast<std::size_t>(variable.columns);
    const std::span<float> part = row.subspan(begin, columns);
    if (variable.bound > 0) {
      fill_uniform(CounterRng(seed_, RngStream::rows, number), id,
                   static_cast<float>(variable.bound), part);
    } else {
      std::ranges::fill(part, 0.0F);
    }
    begin += columns;
    ++number;
  }
}

const float* RowTable::row(std::uint32_t number) const {
  return begins_[number / block_rows] + number % block_rows * stride_;
}

// In two passes over some rows at a time: while the second copies, memory has fetched what the
// first has asked for.
void RowTable::read(std::span<const std::int64_t> ids, std::span<float> rows) const {
  const std::size_t width = width_;
  ENSURE(rows.size() == ids.size() * width);
  std::array<const float*, rows_at_once> found{};
  for (std::size_t begin = 0; begin < ids.size(); begin += rows_at_once) {
    const auto some = ids.subspan(begin, std::min(rows_at_once, ids.size() - begin));
    find_rows(some, found);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto to = rows.subspan((begin + i) * width, width);
      if (found[i] != nullptr) {
        copy_floats(found[i], width, to.data());
      } else {
        start_row(some[i], to);
      }
    }
  }
}

// Null for a row that is not there yet.
void RowTable::find_rows(std::span<const std::int64_t> ids, std::span<const float*> found) const {
  const RowIndex& index = *index_.value;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + fetch_ahead < ids.size()) index.prefetch(ids[i + fetch_ahead]);
    const auto number = index.find(ids[i]);
    found[i] = number ? row(*number) : nullptr;
    for (std::size_t at = 0; number && at < stride_; at += floats_per_line) {
      __builtin_prefetch(found[i] + at);
    }
  }
}

RowIndex& RowTable::own_index() {
  if (index_.lent) index_ = {std::make_shared<RowIndex>(*index_.value)};
  return *index_.value;
}

RowTable::Block& RowTable::own_block(std::size_t number) {
  Lent<Block>& block = blocks_[number];
  if (block.lent) {
    Block copy{.ids = block.value->ids, .floats = pool_.take()};
    copy_floats(block.value->floats.get(), copy.ids.size() * stride_, copy.floats.get());
    block = {std::make_shared<Block>(std::move(copy))};
    begins_[number] = block.value->floats.get();
  }
  return *block.value;
}

// Made, as it starts, where it is not there.
float* RowTable::row_to_change(std::int64_t id) {
  const auto known = index_.value->find(id);
  const auto number = static_cast<std::size_t>(
      known ? *known : own_index().find_or_add(id, static_cast<std::uint32_t>(size_)));
  if (!known) {
    if (size_ % block_rows == 0) {
      blocks_.push_back({std::make_shared<Block>()});
      blocks_.back().value->floats = pool_.take();
      begins_.push_back(blocks_.back().value->floats.get());
    }
    Block& block = own_block(blocks_.size() - 1);
    block.ids.push_back(id);
    ++size_;
  }
  if (blocks_[number / block_rows].lent) own_block(number / block_rows);
  float* const row = begins_[number / block_rows] + number % block_rows * stride_;
  if (known) return row;
  start_row(id, {row, width_});
  std::fill(row + width_, row + stride_, 0.0F);
  return row;
}

void RowTable::apply(const RowGradients& gradients, const Update& update, std::span<float> before) {
  const std::size_t width = width_;
  ENSURE(gradients.rows.size() == gradients.ids.size() * width);
  ENSURE(before.empty() || before.size() == gradients.rows.size());
  const std::span<const std::int64_t> ids(gradients.ids);
  std::vector<float> gathered(rows_at_once * stride_);
  for (std::size_t begin = 0; begin < ids.size(); begin += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, ids.size() - begin);
    const auto floats = [&](auto span) { return span.subspan(begin * width, count * width); };
    apply_to_some({.ids = ids.subspan(begin, count),
                   .gradients = floats(std::span(gradients.rows)),
                   .before = before.empty() ? before : floats(before),
                   .gathered = gathered},
                  update);
  }
}

// Rows are gathered into one range, updated as any other range, and put back.
void RowTable::apply_to_some(const SomeRows& some, const Update& update) {
  const auto& [ids, gradients, before, gathered] = some;
  const std::size_t width = width_;
  const std::size_t slot_count = stride_ / width - 1;
  const auto part = [&](std::size_t slot) {
    return some.gathered.subspan(slot * some.gradients.size(), some.gradients.size());
  };
  std::array<const float*, rows_at_once> found{};
  find_rows(ids, found);  // for the sake of the cache: a row may be new, or its block shared
  std::array<float*, rows_at_once> places{};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    places[i] = row_to_change(ids[i]);
    for (std::size_t slot = 0; slot <= slot_count; ++slot) {
      copy_floats(places[i] + slot * width, width, part(slot).data() + i * width);
    }
  }
  if (!before.empty()) std::ranges::copy(part(0), before.begin());
  std::array<std::span<float>, 2> slots;
  for (std::size_t slot = 0; slot < slot_count; ++slot) slots[slot] = part(slot + 1);
  apply_update(optimizer_, update.learning_rate, update.step, update.gradient_scale, gradients,
               part(0), part(0), std::span(slots).first(slot_count));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t slot = 0; slot <= slot_count; ++slot) {
      copy_floats(part(slot).data() + i * width, width, places[i] + slot * width);
    }
  }
}

void RowTable::put(std::int64_t id, std::span<const float> row) {
  ENSURE(row.size() == stride_);
  std::ranges::copy(row, row_to_change(id));
}

std::vector<RowTable::Stored> RowTable::stored() const {
  std::vector<Stored> all;
  all.reserve(size_);
  for (const Lent<Block>& block : blocks_) {
    const Block& rows = *block.value;
    for (std::size_t i = 0; i < rows.ids.size(); ++i) {
      all.push_back({rows.ids[i], rows.floats.get() + i * stride_});
    }
  }
  std::ranges::sort(all, {}, &Stored::id);
  return all;
}

}  // namespace trainyard::runtime
