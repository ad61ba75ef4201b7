#include "runtime/net/chunks/control_payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t sha256_digits = 64;

void append(PayloadBytes& payload, std::int64_t number) {
  payload.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// The first `count` numbers; what is left behind them stays in `payload`.
Result<std::vector<std::int64_t>> take_numbers(PayloadView& payload, std::size_t count) {
  if (payload.size() / sizeof(std::int64_t) < count) return invalid("a payload is cut short");
  std::vector<std::int64_t> numbers(count);
  if (count == 0) return numbers;
  std::memcpy(numbers.data(), payload.data(), count * sizeof(std::int64_t));
  payload = payload.subspan(count * sizeof(std::int64_t));
  return numbers;
}

std::string text_of(PayloadView payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

// Each is a count or an error. One that is no number says so in the metrics, as a loss does.
bool has_possible_metrics(const BatchSums& sums) {
  return std::ranges::none_of(sums.metrics, [](double sum) { return sum < 0; });
}

}  // namespace

PayloadBytes encode_sums(const BatchSums& sums) {
  PayloadBytes payload;
  for (const std::int64_t number :
       {sums.examples, sums.denominator, std::bit_cast<std::int64_t>(sums.loss_sum), sums.staleness,
        sums.stale.largest()}) {
    append(payload, number);
  }
  for (const double sum : sums.metrics) append(payload, std::bit_cast<std::int64_t>(sum));
  for (const std::int64_t updates : sums.stale.updates()) append(payload, updates);
  return payload;
}

Result<BatchSums> decode_sums(PayloadView payload) {
  TRY_ASSIGN(const auto numbers, take_numbers(payload, 5));
  TRY_ASSIGN(const auto metrics, take_numbers(payload, metrics_max));
  StalenessCounts::Updates updates;
  TRY_ASSIGN(const auto counts, take_numbers(payload, updates.size()));
  if (!payload.empty()) return invalid("sums of another length");
  std::ranges::copy(counts, updates.begin());
  BatchSums sums{.examples = numbers[0],
                 .denominator = numbers[1],
                 .loss_sum = std::bit_cast<double>(numbers[2]),
                 .staleness = numbers[3],
                 .stale = StalenessCounts(updates, numbers[4])};
  std::ranges::transform(metrics, sums.metrics.begin(),
                         [](std::int64_t bits) { return std::bit_cast<double>(bits); });
  return sums;
}

Status check_denominator(std::int64_t denominator) {
  if (denominator >= 0 && denominator <= examples_max) return ok();
  return invalid("a denominator must be 0 to " + std::to_string(examples_max));
}

Status check_sums(const BatchSums& sums) {
  if (sums.examples < 1 || sums.examples > examples_max) {
    return invalid("examples must be 1 to " + std::to_string(examples_max));
  }
  TRY(check_denominator(sums.denominator));
  if (!has_possible_metrics(sums)) return invalid("a metric must be 0 or more");
  return ok();
}

Status check_applied_sums(const BatchSums& sums) {
  const auto is_count = [](std::int64_t number) { return number >= 0 && number <= examples_max; };
  const bool is_possible = is_count(sums.examples) && is_count(sums.denominator) &&
                           is_count(sums.staleness) && has_possible_metrics(sums);
  return is_possible ? ok() : Status(invalid("sums that cannot be"));
}

PayloadBytes encode_squares(const ExactSum& squares) {
  return {reinterpret_cast<const char*>(squares.words_of().data()), sizeof(ExactSum::Words)};
}

Result<ExactSum> decode_squares(PayloadView payload) {
  ExactSum::Words words;
  if (payload.size() != sizeof words) return invalid("a sum of squares is longer");
  std::memcpy(words.data(), payload.data(), sizeof words);
  return ExactSum(words);
}

PayloadBytes encode_total_squares(double squares) {
  return {reinterpret_cast<const char*>(&squares), sizeof squares};
}

Result<double> decode_total_squares(PayloadView payload) {
  double squares = 0;
  if (payload.size() != sizeof squares) return invalid("a norm is one number");
  std::memcpy(&squares, payload.data(), sizeof squares);
  if (squares < 0 || std::isinf(squares)) return invalid("squares are 0 or more");
  return squares;
}

PayloadBytes encode_greeting(const Greeting& greeting) {
  return encode_numbers(std::array{greeting.rank_step, greeting.rows_port}) + greeting.computed_on;
}

Result<Greeting> decode_greeting(PayloadView payload) {
  TRY_ASSIGN(const auto numbers, take_numbers(payload, 2));
  constexpr std::int64_t port_max = 65'535;
  std::string computed_on = text_of(payload);
  const bool is_right = numbers[0] >= 0 && numbers[1] >= 0 && numbers[1] <= port_max;
  if (!is_right || !is_fingerprint(computed_on)) return invalid("this is no welcome");
  return Greeting{
      .rank_step = numbers[0], .rows_port = numbers[1], .computed_on = std::move(computed_on)};
}

PayloadBytes encode_numbers(std::span<const std::int64_t> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

Result<std::vector<std::int64_t>> decode_numbers(PayloadView payload) {
  if (payload.size() % sizeof(std::int64_t) != 0) return invalid("these are no numbers");
  return take_numbers(payload, payload.size() / sizeof(std::int64_t));
}

PayloadBytes encode_shard(const WrittenShard& shard) {
  PayloadBytes payload;
  append(payload, shard.version);
  append(payload, shard.file.bytes);
  append(payload, std::ssize(shard.rank_steps));
  for (const std::int64_t step : shard.rank_steps) append(payload, step);
  return payload + shard.file.sha256 + shard.file.name;
}

Result<WrittenShard> decode_shard(PayloadView payload) {
  TRY_ASSIGN(const auto numbers, take_numbers(payload, 3));
  const std::size_t count = index_of(numbers[2]);
  if (numbers[2] < 0 || count > list_payload_bytes_max) return invalid("a shard of many ranks");
  TRY_ASSIGN(auto rank_steps, take_numbers(payload, count));
  if (payload.size() < sha256_digits) return invalid("a shard without a hash");
  return WrittenShard{.file = {.name = text_of(payload.subspan(sha256_digits)),
                               .bytes = numbers[1],
                               .sha256 = text_of(payload.first(sha256_digits))},
                      .version = numbers[0],
                      .rank_steps = std::move(rank_steps)};
}

PayloadBytes encode_error(const Error& error) {
  PayloadBytes payload;
  append(payload, static_cast<std::int64_t>(error.code));
  return payload + error.message;
}

// Of the codes that a ps has reasons for; any other is `unavailable`.
Error decode_error(PayloadView payload) {
  const auto number = take_numbers(payload, 1);
  const std::string message = text_of(payload);
  if (!number.has_value()) return unavailable("a ps refuses");
  for (const Error& error :
       {invalid(message), not_found(message), conflict(message), internal(message)}) {
    if (static_cast<std::int64_t>(error.code) == number->front()) return error;
  }
  return unavailable(message);
}

}  // namespace trainyard::runtime
