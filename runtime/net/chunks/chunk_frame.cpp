#include "runtime/net/chunks/chunk_frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "schemas/files/sha256.h"

namespace trainyard::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::uint32_t mark = 0x35635954;  // "TYc5"

struct Laid {
  std::uint32_t mark = 0;
  std::uint8_t kind = 0;
  std::uint8_t flag = 0;
  std::uint16_t zero = 0;
  std::uint32_t chunk = 0;
  std::uint32_t bytes = 0;
  std::int64_t step = 0;
  std::int64_t snapshot = 0;
  std::int64_t denominator = 0;
};
static_assert(sizeof(Laid) == frame_header_bytes);

struct LaidHello {
  std::int64_t rank = 0;
  std::uint64_t plan = 0;
  std::uint64_t fingerprint_bytes = 0;  // of what follows; the rest is the token
};

bool is_kind(std::uint8_t kind) {
  const auto between = [kind](FrameKind first, FrameKind last) {
    return kind >= static_cast<std::uint8_t>(first) && kind <= static_cast<std::uint8_t>(last);
  };
  return between(FrameKind::hello, FrameKind::total_squares) ||
         between(FrameKind::welcome, FrameKind::squares);
}

std::string socket_name(const std::string& what, const std::string& token, std::size_t ps,
                        int port) {
  const std::string place = std::to_string(ps) + " at " + std::to_string(port);
  return "trainyard-" + sha256_hex(what + " of ps " + place + ": " + token);
}

}  // namespace

FrameHeaderBytes encode_header(const FrameHeader& header) {
  const Laid laid{.mark = mark,
                  .kind = static_cast<std::uint8_t>(header.kind),
                  .flag = static_cast<std::uint8_t>(header.flag ? 1 : 0),
                  .chunk = header.chunk,
                  .bytes = header.bytes,
                  .step = header.step,
                  .snapshot = header.snapshot,
                  .denominator = header.denominator};
  return std::bit_cast<FrameHeaderBytes>(laid);
}

Result<FrameHeader> decode_header(std::span<const std::byte, frame_header_bytes> bytes) {
  Laid laid;
  std::memcpy(&laid, bytes.data(), sizeof laid);
  const bool is_ours = laid.mark == mark && is_kind(laid.kind) && laid.flag <= 1 && laid.zero == 0;
  if (!is_ours || laid.step < 0 || laid.snapshot < 0 || laid.denominator < 0)
    return invalid("this is no frame");
  return FrameHeader{.kind = static_cast<FrameKind>(laid.kind),
                     .flag = laid.flag != 0,
                     .chunk = laid.chunk,
                     .bytes = laid.bytes,
                     .step = laid.step,
                     .snapshot = laid.snapshot,
                     .denominator = laid.denominator};
}

std::string chunk_socket_name(const std::string& token, std::size_t ps, int port) {
  return socket_name("chunks", token, ps, port);
}

std::string rows_socket_name(const std::string& token, std::size_t ps, int port) {
  return socket_name("rows", token, ps, port);
}

bool is_fingerprint(std::string_view text) {
  constexpr std::size_t bytes_max = 384;
  return text.size() <= bytes_max &&
         std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~'; });
}

std::string encode_hello(const Hello& hello) {
  const LaidHello laid{
      .rank = hello.rank, .plan = hello.plan, .fingerprint_bytes = hello.fingerprint.size()};
  std::string payload(sizeof laid, '\0');
  std::memcpy(payload.data(), &laid, sizeof laid);
  return payload + hello.fingerprint + hello.token;
}

Result<Hello> decode_hello(std::string_view payload) {
  LaidHello laid;
  if (payload.size() < sizeof laid) return invalid("a hello is longer");
  std::memcpy(&laid, payload.data(), sizeof laid);
  payload.remove_prefix(sizeof laid);
  if (payload.size() < laid.fingerprint_bytes) return invalid("a hello is longer");
  return Hello{.rank = laid.rank,
               .plan = laid.plan,
               .token = std::string(payload.substr(laid.fingerprint_bytes)),
               .fingerprint = std::string(payload.substr(0, laid.fingerprint_bytes))};
}

}  // namespace trainyard::runtime
