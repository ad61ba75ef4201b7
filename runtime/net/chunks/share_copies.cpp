#include "runtime/net/chunks/share_copies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

ShareCopies::ShareCopies(StoreLayoutPtr layout)
    : layout_(std::move(layout)), newest_(index_of(layout_->chunks())) {}

void ShareCopies::copy(const CopyChunk& what, const Source& source) {
  forget_overtaken(std::exchange(newest_.at(index_of(what.chunk)), what.snapshot));
  if (!pending_.contains(what.snapshot) && pending_.size() == pending_max) {
    pending_.erase(pending_.begin());
  }
  ShareCopy& copy = pending_[what.snapshot].copy;
  if (copy.weights.size() == 0) copy = empty_copy(source);
  copy_chunk(what.chunk, source, copy);
}

// All its chunks were copied for others before it was whole.
void ShareCopies::forget_overtaken(std::int64_t snapshot) {
  if (std::ranges::find(newest_, snapshot) == newest_.end()) pending_.erase(snapshot);
}

ShareCopy* ShareCopies::newest_of(std::int64_t chunk) {
  const auto pending = pending_.find(newest_.at(index_of(chunk)));
  return pending == pending_.end() ? nullptr : &pending->second.copy;
}

void ShareCopies::residual_came(const ResidualCame& residual, std::span<const std::byte> bytes) {
  const auto pending = pending_.find(residual.snapshot);
  if (pending == pending_.end()) return;
  put_residual(*layout_, {residual.rank, residual.chunk}, bytes, pending->second.copy.residuals);
}

std::optional<ShareCopy> ShareCopies::save(const SaveCopy& what) {
  const auto pending = pending_.find(what.snapshot);
  if (pending == pending_.end()) return std::nullopt;
  if (++pending->second.saved < layout_->chunks()) return std::nullopt;
  ShareCopy whole = std::move(pending->second.copy);
  pending_.erase(pending_.begin(), std::next(pending));  // older ones were overtaken
  return whole;
}

ShareCopy ShareCopies::copy_all(const Source& source) const {
  ShareCopy copy = empty_copy(source);
  for (std::int64_t chunk = 0; chunk < layout_->chunks(); ++chunk) {
    copy_chunk(chunk, source, copy);
  }
  return copy;
}

ShareCopy ShareCopies::empty_copy(const Source& source) const {
  ShareCopy copy{
      .weights = AlignedBuffer(index_of(layout_->elements())), .slots = {}, .residuals = {}};
  for (const AlignedBuffer& slot : source.slots) copy.slots.emplace_back(slot.size());
  return copy;
}

void ShareCopies::copy_chunk(std::int64_t chunk, const Source& source, ShareCopy& copy) const {
  const Range place = layout_->place_of(chunk);
  const auto begin = index_of(place.begin);
  std::ranges::copy(source.weights.newest(chunk), copy.weights.data() + begin);
  for (std::size_t i = 0; i < source.slots.size(); ++i) {
    std::ranges::copy(source.slots[i].span().subspan(begin, index_of(place.size())),
                      copy.slots[i].data() + begin);
  }
}

}  // namespace trainyard::runtime
