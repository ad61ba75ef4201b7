#include "runtime/net/chunks/named_ranks.h"

#include <climits>

#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

std::size_t bytes_of(std::int64_t ranks) { return (index_of(ranks) + CHAR_BIT - 1) / CHAR_BIT; }

std::byte bit_of(std::int64_t rank) { return std::byte{1} << (index_of(rank) % CHAR_BIT); }

}  // namespace

std::string encode_ranks(std::span<const std::int64_t> named, std::int64_t ranks) {
  std::string payload(bytes_of(ranks), '\0');
  const auto bytes = std::as_writable_bytes(std::span(payload));
  for (const std::int64_t rank : named) bytes[index_of(rank) / CHAR_BIT] |= bit_of(rank);
  return payload;
}

Result<std::vector<std::int64_t>> decode_ranks(std::span<const std::byte> payload,
                                               const StepMembers& members) {
  if (payload.size() != bytes_of(members.ranks)) return invalid("ranks of another gang");
  std::vector<std::int64_t> named;
  for (std::int64_t bit = 0; bit < std::ssize(payload) * CHAR_BIT; ++bit) {
    if ((payload[index_of(bit) / CHAR_BIT] & bit_of(bit)) == std::byte{0}) continue;
    if (bit >= members.ranks) return invalid("there is no such rank");
    named.push_back(bit);
  }
  if (std::ssize(named) != members.aggregate) {
    return invalid(std::to_string(named.size()) + " ranks, and " +
                   std::to_string(members.aggregate) + " make a step");
  }
  return named;
}

}  // namespace trainyard::runtime
