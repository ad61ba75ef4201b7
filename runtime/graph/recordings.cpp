#include "runtime/graph/recordings.h"

#include <algorithm>

namespace trainyard::runtime {

// Symbols are found by their offsets: no kernel is told how many they are.
Recordings::Kind Recordings::kind_of(const Feed& feed, Pass pass) {
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
  for (const RowFeed& rows : feed.rows) {
    add(rows.places);
    add(rows.rows);
    add(rows.gradients);
    add_sparse(rows.pooled);
  }
  return kind;
}

void Recordings::choose(const Feed& feed, Pass pass) {
  Kind kind = kind_of(feed, pass);
  const auto known =
      std::ranges::find_if(kept_, [&kind](const Parts& parts) { return parts.kind == kind; });
  if (known == kept_.end()) {
    if (kept_.size() == kinds_kept) kept_.pop_back();
    kept_.push_front({.kind = std::move(kind), .is_new = true, .parts = {}});
    return;
  }
  known->is_new = false;
  kept_.splice(kept_.begin(), kept_, known);
}

void Recordings::run(std::size_t number, const std::function<void()>& work) {
  Parts& parts = kept_.front();
  if (parts.is_new) return work();
  if (parts.parts.size() <= number) parts.parts.resize(number + 1);
  std::unique_ptr<Recording>& part = parts.parts[number];
  if (part == nullptr) {
    device_->begin_recording();
    work();
    part = device_->end_recording();
  }
  part->replay();
}

}  // namespace trainyard::runtime
