#include "runtime/graph/recordings.h"

#include <algorithm>

namespace trainyard::runtime {

// Symbols are found by their offsets: no kernel is told how many they are.
Recordings::Kind Recordings::kind_of(const Feed& feed, Pass pass, const float* parameters) {
  Kind kind{.examples = feed.examples, .pass = pass, .spans = {}};
  const auto add = [&kind](const auto& span) {
    kind.spans.emplace_back(span.data(), span.size_bytes());
  };
  const auto add_sparse = [&add](const SparseView& sparse) {
    add(sparse.offsets);
    add(sparse.columns);
    add(sparse.values);
  };
  add(feed.features);
  add(feed.labels);
  add(feed.targets);
  add_sparse(feed.sparse);
  add(feed.ids);
  add(feed.lengths);
  add(feed.token_labels);
  add(feed.symbol_offsets);
  kind.spans.emplace_back(feed.symbols.data(), 0);
  kind.spans.emplace_back(feed.drawing, 0);
  kind.spans.emplace_back(parameters, 0);
  for (const RowFeed& rows : feed.rows) {
    add(rows.places);
    add(rows.rows);
    add(rows.gradients);
    add_sparse(rows.pooled);
  }
  return kind;
}

void Recordings::choose(const Feed& feed, Pass pass, const float* parameters) {
  Kind kind = kind_of(feed, pass, parameters);
  const auto known = std::ranges::find_if(
      kept_, [&kind](const Recorded& recorded) { return recorded.kind == kind; });
  if (known == kept_.end()) {
    if (kept_.size() == kinds_kept) kept_.pop_back();
    kept_.push_front({.kind = std::move(kind), .is_new = true, .segments = {}});
    return;
  }
  known->is_new = false;
  kept_.splice(kept_.begin(), kept_, known);
}

void Recordings::run(std::size_t number, const std::function<void()>& work) {
  Recorded& recorded = kept_.front();
  if (recorded.is_new) return work();
  if (recorded.segments.size() <= number) recorded.segments.resize(number + 1);
  std::unique_ptr<Recording>& segment = recorded.segments[number];
  if (segment == nullptr) segment = record(work);
  segment->replay();
}

// Whatever work throws, the device does not go on recording.
std::unique_ptr<Recording> Recordings::record(const std::function<void()>& work) {
  device_->begin_recording();
  try {
    work();
  } catch (...) {
    device_->end_recording();
    throw;
  }
  return device_->end_recording();
}

}  // namespace trainyard::runtime
