// Small files, read and written whole: a crash leaves either the old content or the new.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard {

// Also of files that do not know their size, as those of /proc.
Result<std::string> read_file(const std::string& path);

// What the stream still has, where that is at most so many bytes: of one that has no end, such as
// /dev/zero, no more is read. Whether it could be read, `input` says.
std::optional<std::string> read_stream(std::istream& input, std::size_t bytes_max);

// Written aside and renamed: nobody reads half of it. A crash of the host may lose it. Mode 0600.
Status write_file(const std::string& path, std::string_view content);

// Written aside, synced, renamed, and its folder synced. For the user alone: mode 0600.
Status write_file_durably(const std::string& path, std::string_view content);

}  // namespace trainyard
