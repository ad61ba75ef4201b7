// Reading files that others still append to: whole lines, pieces and endings. No state is kept
// here; the caller remembers how far it got.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::agent {

struct TailLine {
  std::int64_t offset = 0;  // of its first byte
  std::string text;         // without the newline
  bool too_long = false;    // longer than the limit: it is there once, without its text
};

struct TailLines {
  std::vector<TailLine> lines;
  // Where to read on: just after the last whole line, or within one that is too long.
  std::int64_t end = 0;
};

// The whole lines from `offset` on, up to about `max_bytes` of them; a last line without its
// newline is left for later. A file that does not exist yet has no lines.
Result<TailLines> read_lines(const std::string& path, std::int64_t offset, std::size_t max_bytes);

// Up to `max_bytes` from `offset` on; "" at the end, and for a file that does not exist yet.
Result<std::string> read_piece(const std::string& path, std::int64_t offset, std::size_t max_bytes);

// The last `max_lines` lines, of at most 16 KiB together; "" when there are none.
std::string last_lines(const std::string& path, int max_lines);

// 0 for a file that does not exist.
std::int64_t file_size(const std::string& path);

}  // namespace trainyard::agent
