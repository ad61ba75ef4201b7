#include "scheduler/store/artifacts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "schemas/files/folder.h"

namespace trainyard::scheduler {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t read_bytes = 1 << 20;
constexpr std::uintmax_t spare_bytes = 64 << 20;

std::string part_of(const std::string& path) { return path + std::string(part_suffix); }

// Nothing where no file is stored. Whatever else is there under its name, such as a symbolic link,
// is none of ours, and makes way for the file.
std::optional<std::int64_t> stored_bytes(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return facts.st_size;
}

Error is_stored_already(const ArtifactFile& file) {
  return conflict(file.name + " is stored already");
}

// False when the path has become another file since `file` was opened: its upload was finished or
// given up.
bool is_still_at(const File& file, const std::string& path) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(file.descriptor(), &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

}  // namespace

// --- ArtifactUpload
// ------------------------------------------------------------------------------------

ArtifactUpload::ArtifactUpload(File file, ArtifactFile announced, std::string part_path,
                               std::string final_path)
    : file_(std::move(file)),
      announced_(std::move(announced)),
      part_path_(std::move(part_path)),
      final_path_(std::move(final_path)) {}

Status ArtifactUpload::take_in_stored(std::int64_t bytes) {
  std::string buffer(read_bytes, '\0');
  while (bytes_ < bytes) {
    TRY_ASSIGN(const std::size_t count, file_.read_at(bytes_, buffer));
    if (count == 0) return unavailable(part_path_ + " became shorter while it was read");
    hash_.add(std::string_view(buffer).substr(0, count));
    bytes_ += static_cast<std::int64_t>(count);
  }
  return ok();
}

Status ArtifactUpload::append(std::string_view data) {
  if (bytes_ + std::ssize(data) > announced_.bytes) {
    return invalid(announced_.name + " is longer than the " + std::to_string(announced_.bytes) +
                   " bytes announced");
  }
  TRY(file_.write_at(bytes_, data));
  hash_.add(data);
  bytes_ += std::ssize(data);
  return ok();
}

StoredPart ArtifactUpload::stored() const { return {.bytes = bytes_, .complete = complete_}; }

Status ArtifactUpload::finish() {
  if (bytes_ != announced_.bytes) {
    return invalid(announced_.name + " has " + std::to_string(bytes_) + " of " +
                   std::to_string(announced_.bytes) + " bytes");
  }
  if (hash_.finish_hex() != announced_.sha256) {
    ::unlink(part_path_.c_str());
    return invalid(announced_.name + " has another content than its sha256 " + announced_.sha256);
  }
  TRY(file_.sync());
  TRY(move_into_place(part_path_, final_path_));
  complete_ = true;
  return ok();
}

// --- ArtifactRead
// ---------------------------------------------------------------------------------------

ArtifactRead::ArtifactRead(File file, std::string sha256)
    : file_(std::move(file)), sha256_(std::move(sha256)) {}

Result<std::size_t> ArtifactRead::read_at(std::int64_t offset, std::span<char> into) {
  TRY_ASSIGN(const std::size_t count, file_.read_at(offset, into));
  if (!hash_ || offset != read_) return count;
  if (count > 0) {
    hash_->add(std::string_view(into.data(), count));
    read_ += static_cast<std::int64_t>(count);
    return count;
  }
  const bool is_sound = hash_->finish_hex() == sha256_;
  hash_.reset();
  if (is_sound) return count;
  if (is_still_at(file_, file_.path())) ::unlink(file_.path().c_str());
  return not_found("the content of " + file_.path() + " is not what was stored: it was damaged");
}

// --- Artifacts
// -----------------------------------------------------------------------------------------

std::string model_file_name(std::int64_t step, std::int64_t attempt) {
  return std::string(made_prefix) + std::to_string(step) + "-" + std::to_string(attempt) +
         ".safetensors";
}

std::string onnx_file_name(std::int64_t step, std::int64_t attempt) {
  return std::string(made_prefix) + std::to_string(step) + "-" + std::to_string(attempt) + ".onnx";
}

Result<std::string> Artifacts::folder_of(const JobId& job) const {
  if (!is_id(job.text)) return invalid("\"" + job.text + "\" is no job id");
  return folder_ + "/" + job.text;
}

Result<std::string> Artifacts::path_of(const JobId& job, const std::string& sha256) const {
  TRY_ASSIGN(const std::string folder, folder_of(job));
  if (!is_sha256(sha256)) return invalid("\"" + sha256 + "\" is no sha256");
  return folder + "/" + sha256;
}

Result<StoredPart> Artifacts::find(const JobId& job, const std::string& sha256) const {
  TRY_ASSIGN(const std::string path, path_of(job, sha256));
  if (const auto bytes = stored_bytes(path)) {
    std::error_code error;
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    return StoredPart{.bytes = *bytes, .complete = true};
  }
  return StoredPart{.bytes = stored_bytes(part_of(path)).value_or(0), .complete = false};
}

Result<ArtifactUpload> Artifacts::resume(const JobId& job, const ArtifactFile& file,
                                         std::int64_t offset) {
  TRY_ASSIGN(const std::string path, path_of(job, file.sha256));
  if (file.bytes < 0) return invalid(file.name + ": bytes must be 0 or more");
  if (stored_bytes(path)) return is_stored_already(file);
  TRY(make_folder(job));
  const std::string part = part_of(path);
  TRY_ASSIGN(File opened, File::open_regular(part, O_RDWR | O_CREAT));
  if (::flock(opened.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    return unavailable("another upload of " + file.name + " is going on");
  }
  if (!is_still_at(opened, part)) return conflict(file.name + " has just been stored");

  ArtifactUpload upload(std::move(opened), file, part, path);
  TRY_ASSIGN(const std::int64_t stored, upload.file_.size());
  const bool was_finished = stored_bytes(path).has_value();  // by another, since we looked
  // What was only made to be locked does not stay behind.
  if (was_finished || (stored == 0 && offset != 0)) ::unlink(part.c_str());
  if (was_finished) return is_stored_already(file);
  if (offset != stored) {
    return conflict(file.name + ": " + std::to_string(stored) + " bytes are stored, not " +
                    std::to_string(offset));
  }
  TRY(upload.take_in_stored(stored));
  return upload;
}

Status Artifacts::make_folder(const JobId& job) {
  TRY_ASSIGN(const std::string folder, folder_of(job));
  if (fs::is_directory(folder)) return ok();
  TRY(make_folders(folder));
  return sync_folder(folder_);
}

Result<File> Artifacts::open(const JobId& job, const std::string& sha256) const {
  TRY_ASSIGN(const std::string path, path_of(job, sha256));
  return File::open_regular(path, O_RDONLY);
}

Result<ArtifactRead> Artifacts::read(const JobId& job, const std::string& sha256) const {
  TRY_ASSIGN(File file, open(job, sha256));
  return ArtifactRead(std::move(file), sha256);
}

std::size_t Artifacts::count_others(const JobId& job, const std::set<std::string>& named) const {
  const auto folder = folder_of(job);
  if (!folder) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(names_in(*folder), [&](const std::string& name) {
        return !name.starts_with(made_prefix) &&
               !named.contains(name.substr(0, name.rfind(part_suffix)));
      }));
}

Status Artifacts::check_room(const ArtifactFile& file) const {
  std::error_code error;
  const fs::space_info space = fs::space(folder_, error);
  if (error || static_cast<std::uintmax_t>(file.bytes) + spare_bytes <= space.available)
    return ok();
  return unavailable("no room for " + file.name + " of " + std::to_string(file.bytes) +
                     " bytes: " + folder_ + " has " + std::to_string(space.available) +
                     " left, of "
                     "which " +
                     std::to_string(spare_bytes) + " are kept for the database");
}

Result<std::string> Artifacts::model_path(const Checkpoint& checkpoint) const {
  TRY_ASSIGN(const std::string folder, folder_of(checkpoint.job));
  return folder + "/" + model_file_name(checkpoint.step, checkpoint.attempt);
}

Result<std::string> Artifacts::onnx_path(const Checkpoint& checkpoint) const {
  TRY_ASSIGN(const std::string folder, folder_of(checkpoint.job));
  return folder + "/" + onnx_file_name(checkpoint.step, checkpoint.attempt);
}

}  // namespace trainyard::scheduler
