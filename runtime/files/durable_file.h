// Files that are whole or not there: written aside, synced, renamed, the folder synced, hashed on
// the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/run_event.h"
#include "schemas/wire/sha256.h"

namespace trainyard::runtime {

class DurableFile {
 public:
  // `name` is relative to `folder` and may hold folders, which are made. Nothing is seen under
  // `name` until commit().
  static Result<DurableFile> create(const std::string& folder, const std::string& name);
  // Without a commit nothing is left behind.
  ~DurableFile();
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&&) = delete;

  Status add(std::span<const std::byte> data);
  Status add(std::string_view data);
  // The file is durable under its name when this returns.
  Result<ArtifactFile> commit();

 private:
  DurableFile(std::string folder, std::string name, int fd);
  [[nodiscard]] std::string path() const { return folder_ + "/" + name_; }
  [[nodiscard]] std::string path_aside() const { return path() + ".partial"; }

  std::string folder_;
  std::string name_;
  int fd_ = -1;
  std::int64_t bytes_ = 0;
  Sha256 hash_;
};

// An open file for reading, closed with the object.
class ReadFile {
 public:
  static Result<ReadFile> open(const std::string& path);
  ~ReadFile();
  ReadFile(ReadFile&& other) noexcept;
  ReadFile& operator=(ReadFile&&) = delete;

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  Status read(std::int64_t offset, std::span<std::byte> out) const;
  Result<std::string> text(std::int64_t offset, std::int64_t count) const;
  Result<std::string> sha256() const;

 private:
  ReadFile(std::string path, int fd, std::int64_t bytes);

  std::string path_;
  int fd_ = -1;
  std::int64_t bytes_ = 0;
};

}  // namespace trainyard::runtime
