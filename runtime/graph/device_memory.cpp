#include "runtime/graph/device_memory.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t border = 256;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + border - 1) / border * border; }

// Calls visit(span) for all that a batch has in memory, but rows' gradients.
template <class AnyFeed, class Visit>
void for_each_span(AnyFeed& feed, Visit visit) {
  visit(feed.features);
  visit(feed.labels);
  visit(feed.targets);
  visit(feed.sparse.offsets);
  visit(feed.sparse.columns);
  visit(feed.sparse.values);
  visit(feed.ids);
  visit(feed.lengths);
  visit(feed.token_labels);
  visit(feed.symbols);
  visit(feed.symbol_offsets);
}

template <class AnyRows, class Visit>
void for_each_span_of_rows(AnyRows& rows, Visit visit) {
  visit(rows.places);
  visit(rows.rows);
  visit(rows.pooled.offsets);
  visit(rows.pooled.columns);
  visit(rows.pooled.values);
}

}  // namespace

DeviceMemory::DeviceMemory(Device& device, std::int64_t parameters, const Threads& threads)
    : device_(device),
      staging_(device, threads),
      count_(static_cast<std::size_t>(parameters)),
      parameters_(device),
      gradients_(device),
      halves_(device),
      sums_(device, count_),
      here_(device, DeviceBuffer::On::host),
      there_(device),
      row_gradients_(device) {
  parameters_.floats(count_);
  gradients_.floats(count_);
}

DeviceMemory::~DeviceMemory() { device_.wait(device_.mark()); }

// How many symbols a batch has differs from batch to batch: what lies behind them stays in its
// place all the same, at a border as each piece of the batch.
Feed DeviceMemory::stage(const Feed& feed) {
  std::size_t number = 0;
  const auto count = [&number](const auto&) { ++number; };
  for_each_span(feed, count);
  for (const RowFeed& rows : feed.rows) for_each_span_of_rows(rows, count);
  rooms_.resize(number);
  std::size_t bytes = round_up(sizeof(Drawing));
  number = 0;
  const auto reserve = [&](const auto& span) {
    std::size_t& room = rooms_[number++];
    if (span.size_bytes() > room) room = round_up(std::max(span.size_bytes(), room + room / 4));
    bytes += room;
  };
  for_each_span(feed, reserve);
  for (const RowFeed& rows : feed.rows) for_each_span_of_rows(rows, reserve);
  device_.wait(read_);
  std::byte* const base = here_.of(bytes);
  std::byte* const there = there_.of(bytes);

  const Drawing drawing{.seed = feed.seed, .first_position = feed.first_position};
  std::memcpy(base, &drawing, sizeof drawing);
  std::size_t at = round_up(sizeof drawing);
  number = 0;
  const auto move = [&](auto& span) {
    using Element = typename std::remove_reference_t<decltype(span)>::element_type;
    const std::size_t here = at;
    at += rooms_[number++];
    if (span.empty()) return;
    copy_bytes(staging_.threads(), base + here, span.data(), span.size_bytes());
    span = {reinterpret_cast<Element*>(there + here), span.size()};
  };
  Feed staged = feed;
  staged.drawing = reinterpret_cast<const Drawing*>(there);
  for_each_span(staged, move);
  rows_.assign(feed.rows.begin(), feed.rows.end());
  std::size_t gradients = 0;
  for (RowFeed& rows : rows_) {
    for_each_span_of_rows(rows, move);
    gradients += rows.gradients.size();
  }
  ENSURE(at == bytes);
  if (gradients > 0) {
    float* to = row_gradients_.floats(gradients);
    device_.fill(to, 0.0F, gradients);
    for (RowFeed& rows : rows_) {
      if (rows.gradients.empty()) continue;
      rows.gradients = {to, rows.gradients.size()};
      to += rows.gradients.size();
    }
  }
  staged.rows = rows_;
  device_.upload(base, there, bytes);
  read_ = device_.mark();
  return staged;
}

void DeviceMemory::fetch_row_gradients(const Feed& host) {
  ENSURE(host.rows.size() == rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::span<float> to = host.rows[i].gradients;
    if (!to.empty()) staging_.download(rows_[i].gradients.data(), to.data(), to.size_bytes());
  }
}

}  // namespace trainyard::runtime
