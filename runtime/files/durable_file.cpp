#include "runtime/files/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "schemas/files/folder.h"

namespace trainyard::runtime {
namespace {

// A new folder is durable once the one that it is in has been synced.
Status make_durable_folder(const std::filesystem::path& folder) {
  if (std::filesystem::is_directory(folder)) return ok();
  TRY(make_folders(folder.string()));
  return sync_folder(folder.parent_path().string());
}

}  // namespace

Result<DurableFile> DurableFile::create(const std::string& folder, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  TRY(make_durable_folder(path.parent_path()));
  TRY_ASSIGN(File file, File::open(path.string() + ".partial", O_WRONLY | O_CREAT | O_TRUNC));
  return DurableFile(folder, name, std::move(file));
}

DurableFile::DurableFile(std::string folder, std::string name, File file)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      file_(std::make_unique<File>(std::move(file))) {}

DurableFile::~DurableFile() {
  if (file_) ::unlink(file_->path().c_str());
}

Status DurableFile::add(std::span<const std::byte> data) {
  return add(std::string_view(reinterpret_cast<const char*>(data.data()), data.size()));
}

Status DurableFile::add(std::string_view data) {
  hash_.add(data);
  TRY(file_->write_at(bytes_, data));
  bytes_ += std::ssize(data);
  return ok();
}

Result<ArtifactFile> DurableFile::commit() {
  TRY(file_->sync());
  TRY(move_into_place(file_->path(), folder_ + "/" + name_));
  file_.reset();
  return ArtifactFile{.name = name_, .bytes = bytes_, .sha256 = hash_.finish_hex()};
}

}  // namespace trainyard::runtime
