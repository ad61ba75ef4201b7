// NVIDIA's library as the plugin opens it, on hosts that have it: no driver is needed for that.
#include "runtime/graph/cuda/nccl_library.h"

#include <catch2/catch.hpp>
#include <cctype>
#include <cstring>

#include "tests/environment.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

TEST_CASE("the plugin finds what it needs in the host's NCCL", "[graph][nccl]") {
  if (is_sanitized) return;  // NCCL's own empty group leaks
  NcclLibrary library;
  const std::string why = library.open();
  if (!why.empty()) {
    WARN("skipped: " << why);
    return;
  }
  INFO(library.version());
  CHECK(library.version().starts_with("NCCL 2."));
  CHECK(std::isdigit(static_cast<unsigned char>(library.version().back())) != 0);
  CHECK(std::strlen(library.error_string(NcclLibrary::success)) > 0);
  // A call that needs no GPU: there is no group of devices without any.
  CHECK(library.group_start() == NcclLibrary::success);
  CHECK(library.group_end() == NcclLibrary::success);
  CHECK(library.init_all(nullptr, 0, nullptr) != NcclLibrary::success);
}

TEST_CASE("a host without NCCL, or with another library of its name, is told apart",
          "[graph][nccl]") {
  NcclLibrary library;
  CHECK_THAT(library.open("libnccl-that-is-not-there.so.2"),
             Catch::Contains("libnccl-that-is-not-there.so.2"));
  CHECK_THAT(library.open("libc.so.6"), Catch::Contains("ncclGetVersion"));
  const TempFolder folder;
  CHECK_FALSE(library.open(folder.write("libnccl.so.2", "no library").c_str()).empty());
}

}  // namespace trainyard::runtime
