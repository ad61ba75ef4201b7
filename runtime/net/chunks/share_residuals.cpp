#include "runtime/net/chunks/share_residuals.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

void put_residual(const StoreLayout& layout, ResidualOf whose, std::span<const std::byte> bytes,
                  ShareResiduals& residuals) {
  ENSURE(bytes.size() == layout.residual_bytes_of(whose.rank, whose.chunk));
  const Range place = layout.place_of(whose.chunk);
  const std::size_t count = index_of(layout.residual_elements_of(whose.chunk));
  const std::size_t each = count * sizeof(float);
  for (std::size_t part = 0; part < layout.parts_of(whose.rank); ++part) {
    const auto [leaf, is_new] = residuals.try_emplace(layout.leaf_of(whose.rank, part));
    if (is_new) leaf->second = AlignedBuffer(index_of(layout.elements()));
    const auto to = leaf->second.span().subspan(index_of(place.begin), count);
    std::ranges::copy(bytes.subspan(part * each, each), std::as_writable_bytes(to).begin());
  }
}

RestoredResiduals::RestoredResiduals(StoreLayoutPtr layout)
    : layout_(std::move(layout)),
      kept_(index_of(layout_->ranks()), std::vector<FloatsPtr>(index_of(layout_->chunks()))) {}

void RestoredResiduals::restore(const ShareResiduals& residuals) {
  if (layout_->rules().push != Wire::onebit) return;
  for (std::int64_t rank = 0; rank < layout_->ranks(); ++rank) {
    std::vector<std::span<const float>> parts;
    for (std::size_t part = 0; part < layout_->parts_of(rank); ++part) {
      const auto found = residuals.find(layout_->leaf_of(rank, part));
      if (found == residuals.end()) break;
      ENSURE(std::ssize(found->second.span()) == layout_->elements());
      parts.push_back(found->second.span());
    }
    if (parts.size() < layout_->parts_of(rank)) continue;
    for (std::int64_t chunk = 0; chunk < layout_->chunks(); ++chunk) {
      const Range place = layout_->place_of(chunk);
      const auto count = index_of(layout_->residual_elements_of(chunk));
      const auto kept = std::make_shared<AlignedBuffer>(count * parts.size());
      for (std::size_t part = 0; part < parts.size(); ++part) {
        std::ranges::copy(parts[part].subspan(index_of(place.begin), count),
                          kept->data() + part * count);
      }
      kept_[index_of(rank)][index_of(chunk)] = kept;
    }
  }
}

ChunkBytes RestoredResiduals::of(std::int64_t rank, std::int64_t chunk) const {
  const FloatsPtr& kept = kept_.at(index_of(rank)).at(index_of(chunk));
  if (!kept) return {};
  return {std::as_bytes(kept->span()), kept};
}

void RestoredResiduals::put_unused(ShareResiduals& residuals) const {
  for (std::int64_t rank = 0; rank < layout_->ranks(); ++rank) {
    const auto& kept = kept_[index_of(rank)];
    if (std::ranges::find(kept, nullptr) != kept.end()) continue;
    for (std::int64_t chunk = 0; chunk < layout_->chunks(); ++chunk) {
      put_residual(*layout_, {rank, chunk}, of(rank, chunk).bytes, residuals);
    }
  }
}

}  // namespace trainyard::runtime
