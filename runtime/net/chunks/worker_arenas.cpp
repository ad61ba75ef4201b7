#include "runtime/net/chunks/worker_arenas.h"

#include <algorithm>
#include <utility>

#include "runtime/math/finite.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

WorkerArenas::WorkerArenas(Rules rules)
    : rules_(std::move(rules)),
      chunks_of_(chunks_by_holder(rules_.chunks, rules_.holders)),
      number_in_share_(rules_.chunks.size()),
      elements_(rules_.chunks.empty() ? 0 : rules_.chunks.back().range.end),
      shared_(make_shared_memory()) {
  ENSURE(!rules_.chunks.empty());
  const auto gradient = index_of(elements_ * rules_.parts);
  const bool encodes = rules_.push != Wire::float32;
  const SharedLayout layout = this->layout();
  const auto piece = [&](std::size_t begin, std::size_t elements) {
    if (!shared_) return AlignedBuffer(elements);
    const std::shared_ptr<float> whole = shared_->memory();
    return AlignedBuffer(std::shared_ptr<float>(whole, whole.get() + begin), elements);
  };
  const std::size_t sent = layout.floats() - layout.sent_begin();
  parameters_ = piece(0, layout.sent_begin());
  (encodes ? encoded_ : gradient_) = piece(layout.sent_begin(), sent);
  if (encodes) gradient_ = AlignedBuffer(gradient);
  ENSURE(rules_.pull != Wire::onebit && (!rules_.come_rounded || rules_.push == Wire::bfloat16));
  ENSURE(!rules_.stay_rounded || rules_.pull == Wire::bfloat16);
  if (rules_.push == Wire::onebit) {
    encoder_.emplace(OneBitEncoder::Shape{.elements = elements_,
                                          .parts = rules_.parts,
                                          .state_begin = rules_.state_begin,
                                          .gaps = rules_.gaps});
  }
  for (const auto& chunks : chunks_of_) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      number_in_share_[index_of(chunks[i])] = static_cast<std::uint32_t>(i);
    }
  }
}

SharedLayout WorkerArenas::layout() const {
  return {.elements = elements_,
          .versions = rules_.versions,
          .parts = rules_.parts,
          .push = rules_.push,
          .state_begin = rules_.state_begin,
          .stay_rounded = rules_.stay_rounded};
}

std::optional<SharedFloats> WorkerArenas::make_shared_memory() const {
  if (!rules_.shares) return std::nullopt;
  auto made = SharedFloats::create(layout().floats(), SharedFloats::Writers::all);
  if (made.has_value()) return *std::move(made);
  log_warning("no shared memory", {{"message", made.error().message}});
  return std::nullopt;
}

std::span<std::byte> WorkerArenas::sent() {
  return std::as_writable_bytes((rules_.push == Wire::float32 ? gradient_ : encoded_).span());
}

std::span<std::uint16_t> WorkerArenas::rounded(std::int64_t part) {
  if (!rules_.come_rounded) return {};
  const ArenaEncoding encoding = layout().encoding();
  const auto of_part = sent().subspan(index_of(part * encoded_bytes(encoding)));
  const std::int64_t elements = elements_ - encoding.state_elements();
  return {reinterpret_cast<std::uint16_t*>(of_part.data()), index_of(elements)};
}

void WorkerArenas::drop_parameters() {
  if (shared_) shared_->drop(layout().sent_begin());
}

std::span<const float> WorkerArenas::parameters(std::int64_t version) const {
  return parameters_.span().subspan(layout().parameters_begin(version), index_of(elements_));
}

std::span<const std::uint16_t> WorkerArenas::rounded_parameters(std::int64_t version) const {
  if (!rules_.stay_rounded) return {};
  const auto bytes = std::as_bytes(parameters_.span()).subspan(layout().rounded_byte(version, 0));
  return {reinterpret_cast<const std::uint16_t*>(bytes.data()),
          index_of(elements_ - layout().encoding().state_elements())};
}

std::span<float> WorkerArenas::parameters_of(std::int64_t chunk, std::int64_t version) {
  const Range& range = range_of(chunk);
  const std::size_t begin = layout().parameters_begin(version) + index_of(range.begin);
  return parameters_.span().subspan(begin, index_of(range.size()));
}

std::uint32_t WorkerArenas::number_in_share(std::int64_t chunk) const {
  return number_in_share_.at(index_of(chunk));
}

const Range& WorkerArenas::range_of(std::int64_t chunk) const {
  return rules_.chunks.at(index_of(chunk)).range;
}

std::int64_t WorkerArenas::final_from(std::int64_t chunk) const {
  const Range& range = range_of(chunk);
  const bool has_blocks = encoder_ && range.begin < rules_.state_begin;
  return has_blocks ? OneBitEncoder::final_from(range) : range.begin;
}

bool WorkerArenas::encode(std::int64_t chunk) {
  const Range& range = range_of(chunk);
  const bool is_state = range.begin >= rules_.state_begin;
  if (encoder_ && !is_state) return encoder_->encode(range, gradient_.span(), sent());
  if ((!encodes() || rules_.come_rounded) && !is_state) return true;
  const ArenaEncoding encoding = layout().encoding();
  const std::size_t count = index_of(range.size());
  for (std::int64_t part = 0; part < rules_.parts; ++part) {
    const auto made = gradient_.span().subspan(index_of(part * elements_ + range.begin), count);
    if (is_state && !all_finite(made)) return false;
    if (!encodes()) continue;  // it lies where it is sent from
    const auto to = sent().subspan(
        index_of(part * encoded_bytes(encoding) + encoded_begin(encoding, range.begin)));
    if (is_state) {
      std::ranges::copy(std::as_bytes(made), to.begin());
    } else {
      encode_bfloat16(made, {reinterpret_cast<std::uint16_t*>(to.data()), count});
    }
  }
  return true;
}

std::vector<std::span<const std::byte>> WorkerArenas::gradient_of(std::int64_t chunk) {
  return encoded_pieces(layout().encoding(), sent(), {.ranges = {range_of(chunk)}}, rules_.parts);
}

bool WorkerArenas::is_rounded(std::int64_t chunk, Form form) const {
  const Wire pull = wire_of_chunk(rules_.pull, range_of(chunk), rules_.state_begin);
  return pull == Wire::bfloat16 && form == Form::pulled;
}

std::size_t WorkerArenas::parameter_bytes(std::int64_t chunk, Form form) const {
  const std::size_t bytes = is_rounded(chunk, form) ? sizeof(std::uint16_t) : sizeof(float);
  return index_of(range_of(chunk).size()) * bytes;
}

std::span<std::byte> WorkerArenas::parameter_place(std::int64_t chunk, std::int64_t version,
                                                   Form form) {
  if (!is_rounded(chunk, form)) return std::as_writable_bytes(parameters_of(chunk, version));
  return rules_.stay_rounded ? rounded_of(chunk, version) : std::span<std::byte>();
}

std::span<std::byte> WorkerArenas::rounded_of(std::int64_t chunk, std::int64_t version) {
  const Range& range = range_of(chunk);
  return std::as_writable_bytes(parameters_.span())
      .subspan(layout().rounded_byte(version, range.begin),
               index_of(range.size()) * sizeof(std::uint16_t));
}

void WorkerArenas::round(std::int64_t chunk, std::int64_t version) {
  if (!rules_.stay_rounded || range_of(chunk).begin >= rules_.state_begin) return;
  const std::span<const float> exact = parameters_of(chunk, version);
  auto* const halves = reinterpret_cast<std::uint16_t*>(rounded_of(chunk, version).data());
  encode_bfloat16(exact, {halves, exact.size()});
}

void WorkerArenas::decode(std::int64_t chunk, std::int64_t version,
                          std::span<const float> landing) {
  if (!is_rounded(chunk, Form::pulled) || rules_.stay_rounded) return;
  const std::span<float> place = parameters_of(chunk, version);
  decode_bfloat16({reinterpret_cast<const std::uint16_t*>(landing.data()), place.size()}, place);
}

}  // namespace trainyard::runtime
