// The numbered .sql files of this folder, compiled in, so that a server needs no files beside it.
#pragma once

#include <span>
#include <string_view>

namespace trainyard {

struct Migration {
  int number = 0;  // of the file's name: brings a database of version number - 1 to this one
  std::string_view sql;
};

std::span<const Migration> migrations();  // ascending, from 1, without gaps

}  // namespace trainyard
