// Payloads without tensors, as a peer may cut them short or make them up.
#include "runtime/net/chunks/control_payload.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

PayloadView view_of(const PayloadBytes& payload) { return std::as_bytes(std::span(payload)); }

// No part of it is one; what is longer is none either, where `longer` is so.
template <class Decode>
void check_length(const PayloadBytes& whole, const Decode& decode, bool longer) {
  REQUIRE(decode(view_of(whole)).has_value());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CHECK_FALSE(decode(view_of(whole).first(bytes)).has_value());
  }
  CHECK(decode(view_of(whole + "x")).has_value() == longer);
}

}  // namespace

TEST_CASE("sums are read as they were written", "[control_payload]") {
  BatchSums sums{.examples = 64, .loss_sum = 0.1, .metrics = {60, 0.25}, .staleness = 7};
  for (const std::int64_t staleness : {0, 1, 90}) sums.stale.add(staleness);
  const PayloadBytes payload = encode_sums(sums);
  CHECK(*decode_sums(view_of(payload)) == sums);
  CHECK(payload.size() <= small_payload_bytes_max);
  check_length(payload, decode_sums, false);
}

TEST_CASE("sums that no batch has are refused", "[control_payload]") {
  CHECK(check_sums({.examples = 1, .metrics = {1}}).has_value());
  for (const BatchSums& sums :
       {BatchSums{.examples = 0}, BatchSums{.examples = -1}, BatchSums{.examples = INT64_MAX},
        BatchSums{.examples = 5, .metrics = {-1}},
        BatchSums{.examples = 5, .metrics = {0, -0.5}}}) {
    CHECK_FALSE(check_sums(sums).has_value());
  }
}

TEST_CASE("sums that no updates have are refused", "[control_payload]") {
  CHECK(check_applied_sums({.examples = 0}).has_value());
  CHECK(check_applied_sums({.examples = 5, .metrics = {5}, .staleness = 3}).has_value());
  for (const BatchSums& sums :
       {BatchSums{.examples = -1}, BatchSums{.examples = INT64_MAX},
        BatchSums{.examples = 5, .metrics = {-1}}, BatchSums{.examples = 5, .metrics = {0, -0.5}},
        BatchSums{.staleness = -1}, BatchSums{.staleness = INT64_MAX}}) {
    CHECK_FALSE(check_applied_sums(sums).has_value());
  }
}

TEST_CASE("a greeting, numbers and a shard are read as they were written", "[control_payload]") {
  for (const std::string& computed_on : {std::string(), std::string(384, 'a')}) {
    const PayloadBytes greeting =
        encode_greeting({.rank_step = 5, .rows_port = 20001, .computed_on = computed_on});
    CHECK(decode_greeting(view_of(greeting))->rank_step == 5);
    CHECK(decode_greeting(view_of(greeting))->rows_port == 20001);
    CHECK(decode_greeting(view_of(greeting))->computed_on == computed_on);
    CHECK(greeting.size() <= small_payload_bytes_max);
  }
  check_length(encode_greeting({.rank_step = 5, .rows_port = 20001}), decode_greeting, true);
  for (const Greeting& odd :
       {Greeting{-1, 1}, Greeting{1, -1}, Greeting{1, 65'536}, Greeting{1, 1, "two\nlines"},
        Greeting{1, 1, std::string(385, 'a')}}) {
    const PayloadBytes bytes = encode_greeting(odd);
    CHECK_FALSE(decode_greeting(view_of(bytes)).has_value());
  }

  const std::vector<std::int64_t> numbers{3, -1, 1000};
  const PayloadBytes list = encode_numbers(numbers);
  CHECK(*decode_numbers(view_of(list)) == numbers);
  CHECK_FALSE(decode_numbers(view_of(list).first(9)).has_value());

  const WrittenShard shard{.file = {.name = "step-1/shard-00001-of-00001.safetensors",
                                    .bytes = 77,
                                    .sha256 = std::string(64, 'a')},
                           .version = 4,
                           .rank_steps = {1, 3}};
  const auto read = decode_shard(view_of(encode_shard(shard)));
  REQUIRE(read.has_value());
  CHECK(read->file == shard.file);
  CHECK(read->version == 4);
  CHECK(read->rank_steps == shard.rank_steps);
  const PayloadBytes written = encode_shard(shard);
  for (std::size_t bytes = 0; bytes < written.size() - shard.file.name.size(); ++bytes) {
    CHECK_FALSE(decode_shard(view_of(written).first(bytes)).has_value());
  }
  const std::vector<std::int64_t> many{1, 1, INT64_MAX};
  CHECK_FALSE(decode_shard(view_of(encode_numbers(many))).has_value());
}

TEST_CASE("an error keeps its code and message; what is none is unavailable", "[control_payload]") {
  for (const Error& error : {invalid("a"), not_found("b"), conflict("c"), internal("d")}) {
    CHECK(decode_error(view_of(encode_error(error))) == error);
  }
  CHECK(decode_error({}).code == Code::unavailable);
  CHECK(decode_error(view_of(PayloadBytes(8, '\x7f'))).code == Code::unavailable);
}

}  // namespace trainyard::runtime
