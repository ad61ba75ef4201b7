// Frames between a worker and a ps: a header of 32 bytes, little-endian, and its payload. A
// connection begins with the worker's hello and the ps' welcome; nothing else is taken before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard::runtime {

enum class FrameKind : std::uint8_t {
  // worker to ps
  hello = 1,       // payload: Hello
  gradient,        // of a step and a chunk; payload: as the wire has it
  ask_parameters,  // step: the version; flag: of this chunk alone
  ask_turn,        // of the step
  ended,           // this rank pushes no more; snapshot: which it was to mark
  sums,            // of the step; payload: BatchSums. From ps 0 to the chief: chunk is the rank
  // With backup workers. From and to workers: `named`; the others are of ps 0.
  whole,  // to ps 0: of the step; snapshot: wanted; flag: no step after it
  named,  // of the step; snapshot: the newest; payload: as encode_ranks() has it
  // ps to worker
  welcome = 16,  // step: the version; snapshot; payload: the rank's step
                 // flag: gradients and parameters go by the memory that came with the hello
  parameters,    // step: the version; of a chunk; payload: as the wire has it
  turn,          // of the step; flag: no push is left
  late,          // to the chief: chunk is the rank, step how many of its gradients were left out
  refused        // payload: why, in words
};

struct FrameHeader {
  FrameKind kind = FrameKind::hello;
  bool flag = false;
  std::uint32_t chunk = 0;  // as the ps numbers its own
  std::uint32_t bytes = 0;  // of the payload
  std::int64_t step = 0;
  std::int64_t snapshot = 0;
  bool operator==(const FrameHeader&) const = default;
};

constexpr std::size_t frame_header_bytes = 32;
using FrameHeaderBytes = std::array<std::byte, frame_header_bytes>;

FrameHeaderBytes encode_header(const FrameHeader& header);
// `invalid` where it is no header.
Result<FrameHeader> decode_header(std::span<const std::byte, frame_header_bytes> bytes);

// What is not as long as a chunk: a stranger can have us keep no more.
constexpr std::size_t small_payload_bytes_max = 512;

struct Hello {
  std::int64_t rank = 0;
  std::uint64_t plan = 0;  // ExchangePlan's hash: both sides cut the arena alike
  std::string token;
};
// Of the Unix socket of a ps, for workers of its host: nobody can guess it, and it is of this ps
// alone, whatever its port.
std::string chunk_socket_name(const std::string& token, std::size_t ps);

std::string encode_hello(const Hello& hello);
Result<Hello> decode_hello(std::string_view payload);

}  // namespace trainyard::runtime
