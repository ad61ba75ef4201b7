// Frames between a worker and a ps: a header of 40 bytes, little-endian, and its payload. A
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
  hello = 1,  // payload: Hello; flag: SharedLayout::stay_rounded, of the memory that comes along
  gradient,   // of a step and a chunk; payload: as the wire has it
  ask_parameters,  // step: the version; flag: of this chunk alone
  ask_turn,        // of the step
  ended,           // this rank pushes no more; snapshot: which it was to mark
  sums,            // of the step; payload: BatchSums
  ask_residuals,   // onebit: what the checkpoint had of this rank's, of all chunks
  residual,        // of the chunk, for the snapshot; payload: float32, part by part
  goodbye,         // this process needs nothing any more; answered by `released`
  // The chief alone.
  begin_snapshot,  // async, to ps 0: the next gradient of every rank marks `snapshot`; flag: and
                   // there is no push after it
  ask_shard,       // of the snapshot; payload: the steps whose shards may stay, by hand; none: all
  ask_weights,     // as they are in the newest shard, which is of the snapshot
  finish,          // training is over
  // With backup workers. Both sides say `named`: ps 0 to workers, and they to the other ps.
  whole,  // to ps 0: of the step; snapshot: wanted; flag: no step after it
  named,  // of the step; snapshot: the newest; payload: as encode_ranks() has it
  // The chief, where gradients are clipped by their norm: of all shares of the step's.
  total_squares,  // of the step; payload: a double
  // ps to worker
  welcome = 32,    // step: the version; snapshot; payload: Greeting
                   // flag: gradients and parameters go by the memory that came with the hello
  parameters,      // step: the version; of a chunk; payload: as the wire has it; flag: as float32
                   // snapshot: not 0: the chunk's residual as it is now is to be sent for it
  turn,            // of the step; flag: no push is left
  applied,         // to the chief, of ps 0: payload: BatchSums of what was applied since the last
  shard,           // of the snapshot, durable; payload: WrittenShard; flag: refused, and why
  weights,         // of the snapshot and a chunk; payload: float32; flag: refused, and why
  released,        // the answer to a goodbye
  refused,         // payload: why, in words; flag: its fingerprint is another
  residual_taken,  // of the chunk, for the snapshot
  restored_residual,  // of the chunk; payload: float32, part by part; none: it is zero
  late,    // to the chief, of ps 0: chunk is the rank, step how many of its gradients were left out
  squares  // to the chief: of this share of the step's gradient; payload: ExactSum
};

struct FrameHeader {
  FrameKind kind = FrameKind::hello;
  bool flag = false;
  std::uint32_t chunk = 0;  // as the ps numbers its own
  std::uint32_t bytes = 0;  // of the payload
  std::int64_t step = 0;
  std::int64_t snapshot = 0;
  std::int64_t denominator = 0;  // of a gradient: as in BatchSums
  bool operator==(const FrameHeader&) const = default;
};

constexpr std::size_t frame_header_bytes = 40;
using FrameHeaderBytes = std::array<std::byte, frame_header_bytes>;

FrameHeaderBytes encode_header(const FrameHeader& header);
// `invalid` where it is no header.
Result<FrameHeader> decode_header(std::span<const std::byte, frame_header_bytes> bytes);

// What is not as long as a chunk: a stranger can have us keep no more.
constexpr std::size_t small_payload_bytes_max = 512;
// Of the gang: what has an entry for each rank, or for each checkpoint.
constexpr std::size_t list_payload_bytes_max = 64 << 10;

struct Hello {
  std::int64_t rank = 0;
  std::uint64_t plan = 0;  // JobPlan::hash(): both sides cut the arena alike
  std::string token;
  // The kind of device that computes, where all of a gang must have one; "": it does not matter.
  std::string fingerprint = {};
};
struct Greeting {
  std::int64_t rank_step = 0;  // as in WelcomeWorker
  std::int64_t rows_port = 0;  // where rows of a table are to be had; 0: nowhere
  // What computed the checkpoint that the ps began with, as Hello::fingerprint; "": not told.
  std::string computed_on = {};
};

// Of the Unix socket of a ps that listens at this port, for workers of its host: no other ps
// has it, of this gang or another. Who connects is checked by its user and its token.
std::string chunk_socket_name(const std::string& token, std::size_t ps, int port);
// Of its rows of a table: it listens to chunks at this port.
std::string rows_socket_name(const std::string& token, std::size_t ps, int port);

// Whether people may be shown it as Hello::fingerprint: printable ASCII of at most 384 bytes.
bool is_fingerprint(std::string_view text);

std::string encode_hello(const Hello& hello);
Result<Hello> decode_hello(std::string_view payload);

}  // namespace trainyard::runtime
