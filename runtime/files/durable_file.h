// Files that are whole or not there: written aside, synced, renamed, the folder synced, hashed on
// the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/files/file.h"
#include "schemas/files/sha256.h"
#include "schemas/types/run_event.h"

namespace trainyard::runtime {

class DurableFile {
 public:
  // `name` is relative to `folder` and may hold folders, which are made. Nothing is seen under
  // `name` until commit().
  static Result<DurableFile> create(const std::string& folder, const std::string& name);
  // Without a commit nothing is left behind.
  ~DurableFile();
  DurableFile(DurableFile&&) noexcept = default;
  DurableFile& operator=(DurableFile&&) = delete;

  Status add(std::span<const std::byte> data);
  Status add(std::string_view data);
  // The file is durable under its name when this returns.
  Result<ArtifactFile> commit();

 private:
  DurableFile(std::string folder, std::string name, File file);

  std::string folder_;
  std::string name_;
  std::unique_ptr<File> file_;  // what is written aside; none once it is committed or moved from
  std::int64_t bytes_ = 0;
  Sha256 hash_;
};

}  // namespace trainyard::runtime
