// Payloads of frames that carry no tensors: numbers as they lie, little-endian, and text behind
// them. What does not fit its kind is `invalid`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/batch_sums.h"
#include "runtime/core/exact_sum.h"
#include "runtime/net/chunks/chunk_frame.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

using PayloadBytes = std::string;
using PayloadView = std::span<const std::byte>;

// Most that a frame may say of examples, or of tokens.
constexpr std::int64_t examples_max = std::int64_t{1} << 40;

PayloadBytes encode_sums(const BatchSums& sums);
Result<BatchSums> decode_sums(PayloadView payload);
// As in BatchSums, of one gradient.
Status check_denominator(std::int64_t denominator);
// Of one gradient, as a worker tells them.
Status check_sums(const BatchSums& sums);
// Of what was applied since ps 0 said so last.
Status check_applied_sums(const BatchSums& sums);

PayloadBytes encode_squares(const ExactSum& squares);
Result<ExactSum> decode_squares(PayloadView payload);
// Of all shares together, rounded: 0 or more, or NaN.
PayloadBytes encode_total_squares(double squares);
Result<double> decode_total_squares(PayloadView payload);

PayloadBytes encode_greeting(const Greeting& greeting);
Result<Greeting> decode_greeting(PayloadView payload);

PayloadBytes encode_numbers(std::span<const std::int64_t> numbers);
Result<std::vector<std::int64_t>> decode_numbers(PayloadView payload);

PayloadBytes encode_shard(const WrittenShard& shard);
Result<WrittenShard> decode_shard(PayloadView payload);

// An error, code and message: what a peer refuses has one reason more than `unavailable`.
PayloadBytes encode_error(const Error& error);
Error decode_error(PayloadView payload);

}  // namespace trainyard::runtime
