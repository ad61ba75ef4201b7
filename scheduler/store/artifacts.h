// Files of checkpoints, kept under the name of their content: <folder>/<job>/<sha256>. An upload
// that broke off goes on where it stopped; a file is there only once it is whole, verified and
// durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/id.h"
#include "schemas/base/result.h"
#include "schemas/files/file.h"
#include "schemas/files/sha256.h"
#include "schemas/types/checkpoint.h"

namespace trainyard::scheduler {

struct StoredPart {
  std::int64_t bytes = 0;
  bool complete = false;
};

// One upload that is going on; of one file there is one at a time.
class ArtifactUpload {
 public:
  Status append(std::string_view data);  // `invalid` beyond the announced size
  [[nodiscard]] StoredPart stored() const;
  // Once all bytes are in: verifies, makes durable, puts in place. A content that is not what the
  // sha256 says is `invalid`, and the upload starts over.
  Status finish();

 private:
  friend class Artifacts;
  ArtifactUpload(File file, ArtifactFile announced, std::string part_path, std::string final_path);
  Status take_in_stored(std::int64_t bytes);  // into the hash

  File file_;
  ArtifactFile announced_;
  std::string part_path_;
  std::string final_path_;
  std::int64_t bytes_ = 0;
  Sha256 hash_;
  bool complete_ = false;
};

// A file that is read from its start to its end: then it is known whether its content is still the
// one that it is named after. A disk may lose or change what was durable.
class ArtifactRead {
 public:
  // As File::read_at(). Where the end is reached in order and the content is another: `not_found`,
  // and the file is there no more, so that whoever has the content may bring it again.
  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into);

 private:
  friend class Artifacts;
  ArtifactRead(File file, std::string sha256);

  File file_;
  std::string sha256_;
  std::int64_t read_ = 0;                      // in order
  std::optional<Sha256> hash_{std::in_place};  // until the end
};

inline constexpr std::string_view part_suffix = ".part";  // of a file that is not whole yet
// Of files that the server makes of others. Half of one is left where a server died over it: it is
// made again from its start.
inline constexpr std::string_view made_prefix = "model-";
std::string model_file_name(std::int64_t step, std::int64_t attempt);
std::string onnx_file_name(std::int64_t step, std::int64_t attempt);

class Artifacts {
 public:
  // Safe from several threads.
  explicit Artifacts(std::string folder) : folder_(std::move(folder)) {}

  // How much is here; nothing at all is 0 bytes. The file counts as young again (sweep.h).
  // `invalid` for a job or hash that cannot be one.
  [[nodiscard]] Result<StoredPart> find(const JobId& job, const std::string& sha256) const;
  // `conflict` when `offset` is not where the stored part ends, or the file is complete: the caller
  // asks find() and goes on from there. `unavailable` while another upload of it goes on.
  Result<ArtifactUpload> resume(const JobId& job, const ArtifactFile& file, std::int64_t offset);
  // A complete file, for reading.
  [[nodiscard]] Result<File> open(const JobId& job, const std::string& sha256) const;
  // Likewise, for who reads all of it.
  [[nodiscard]] Result<ArtifactRead> read(const JobId& job, const std::string& sha256) const;

  // How many files of the job that were uploaded, whole or not, are none of `named`.
  [[nodiscard]] std::size_t count_others(const JobId& job,
                                         const std::set<std::string>& named) const;
  // `unavailable` where what is not stored of the file would leave the disk nothing for anything
  // else.
  [[nodiscard]] Status check_room(const ArtifactFile& file) const;

  // Where the file that users download of a checkpoint is kept, once it was made.
  [[nodiscard]] Result<std::string> model_path(const Checkpoint& checkpoint) const;
  [[nodiscard]] Result<std::string> onnx_path(const Checkpoint& checkpoint) const;  // likewise

 private:
  [[nodiscard]] Result<std::string> folder_of(const JobId& job) const;
  Status make_folder(const JobId& job);
  [[nodiscard]] Result<std::string> path_of(const JobId& job, const std::string& sha256) const;

  std::string folder_;
};

}  // namespace trainyard::scheduler
