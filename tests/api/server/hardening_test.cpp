// What keeps others out: how the programs were linked, read from their ELF files; and who may
// read what they write.
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/api/server/server_program.h"
#include "tests/environment.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"

namespace trainyard::api {
namespace {

namespace fs = std::filesystem;

// A program's file, as far as it says how it was linked.
class Elf {
 public:
  explicit Elf(const std::string& path) : bytes_(content_of(path)) {
    REQUIRE(bytes_.size() > sizeof(Elf64_Ehdr));
    header_ = at<Elf64_Ehdr>(0);
    for (int i = 0; i < header_.e_phnum; ++i) {
      segments_.push_back(at<Elf64_Phdr>(header_.e_phoff + sizeof(Elf64_Phdr) * size(i)));
    }
    read_dynamic();
  }

  [[nodiscard]] bool is_position_independent() const { return header_.e_type == ET_DYN; }
  [[nodiscard]] bool has(std::uint32_t segment) const { return find(segment) != nullptr; }
  [[nodiscard]] bool stack_is_data() const {
    const Elf64_Phdr* const stack = find(PT_GNU_STACK);
    return stack != nullptr && (stack->p_flags & PF_X) == 0;
  }
  [[nodiscard]] bool binds_now() const { return binds_now_; }
  // Names of what it takes from libraries.
  [[nodiscard]] const std::set<std::string>& imports() const { return imports_; }

 private:
  static std::size_t size(int count) { return static_cast<std::size_t>(count); }

  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    REQUIRE(offset + sizeof(T) <= bytes_.size());
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] const Elf64_Phdr* find(std::uint32_t type) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == type) return &segment;
    }
    return nullptr;
  }
  void read_dynamic() {
    const Elf64_Phdr* const dynamic = find(PT_DYNAMIC);
    REQUIRE(dynamic != nullptr);
    for (std::uint64_t at_byte = 0; at_byte < dynamic->p_filesz; at_byte += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(dynamic->p_offset + at_byte);
      binds_now_ = binds_now_ || entry.d_tag == DT_BIND_NOW ||
                   (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW) != 0) ||
                   (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW) != 0);
    }
    for (int i = 0; i < header_.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header_.e_shoff + sizeof(Elf64_Shdr) * size(i));
      if (section.sh_type != SHT_DYNSYM) continue;
      const auto names = at<Elf64_Shdr>(header_.e_shoff + sizeof(Elf64_Shdr) * section.sh_link);
      for (std::uint64_t symbol = 0; symbol < section.sh_size; symbol += sizeof(Elf64_Sym)) {
        const auto found = at<Elf64_Sym>(section.sh_offset + symbol);
        if (found.st_shndx == SHN_UNDEF) imports_.insert(&bytes_[names.sh_offset + found.st_name]);
      }
    }
  }

  std::string bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  bool binds_now_ = false;
  std::set<std::string> imports_;
};

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

// Of all below the folder, others than its owner may do nothing.
void check_private(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    CAPTURE(entry.path().string());
    CHECK((mode_of(entry.path().string()) & 0077U) == 0);
  }
}

}  // namespace

TEST_CASE("the programs are linked so that little can be done to them [mend-A9]", "[program]") {
  for (const char* name : {"trainyard-server", "trainyard-agent", "trainyard-shim",
                           "trainyard-runtime", "trainyard"}) {
    CAPTURE(name);
    const Elf elf(program_path(name));
    if (!is_sanitized) CHECK(elf.is_position_independent());
    CHECK(elf.has(PT_INTERP));  // a program, not a library
    CHECK(elf.has(PT_GNU_RELRO));
    CHECK(elf.stack_is_data());
    CHECK(elf.binds_now());
    CHECK(elf.imports().contains("__stack_chk_fail"));
    const auto is_checked_copy = [](const std::string& import) {
      return import.ends_with("_chk") && import != "__stack_chk_fail";
    };
    if (!is_sanitized) CHECK(std::ranges::any_of(elf.imports(), is_checked_copy));
  }
}

TEST_CASE("only the server's user may read its state, that of before too [mend-A9]", "[program]") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const mode_t before = ::umask(022);
  for (const char* sub : {"artifacts/j-1", "logs"}) fs::create_directories(state + "/" + sub);
  for (const char* file : {"trainyard.db", "trainyard.db-wal", "trainyard.db-shm", "lock"}) {
    std::ofstream(state + "/" + file);
  }

  ServerProgram server("umask 022;",
                       "--http-address 127.0.0.1:0 --adopt-state --state-dir " + state);
  CHECK_THAT(server.first_line(), Catch::Contains("listening"));
  CHECK(server.end() == 0);
  ::umask(before);

  for (const char* sub : {"artifacts", "logs", "lost+found"}) {
    if (fs::exists(state + "/" + sub)) CHECK(mode_of(state + "/" + sub) == 0700);
  }
  for (const char* file : {"trainyard.db", "lock", "id", "token.key"}) {
    CHECK(mode_of(state + "/" + file) == 0600);
  }
}

TEST_CASE("a folder that the server makes is its user's alone [mend-A9]", "[program]") {
  const TempFolder folder;
  ServerProgram server("umask 022;",
                       "--http-address 127.0.0.1:0 --state-dir " + folder.path("state"));
  CHECK_THAT(server.first_line(), Catch::Contains("listening"));
  check_private(folder.path("state"));
  CHECK(mode_of(folder.path("state")) == 0700);
  CHECK(server.end() == 0);
}

}  // namespace trainyard::api
