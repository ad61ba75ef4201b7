#include "schemas/wire/artifact_json.h"

#include <algorithm>
#include <string_view>

#include "schemas/files/sha256.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::size_t name_length_max = 512;
constexpr std::size_t files_max = 1'001;  // as many as a job may have ps, and a vocabulary
constexpr std::int64_t file_bytes_max = std::int64_t{1} << 48;  // so that all of them add up

bool is_safe_name(std::string_view name) {
  if (name.empty() || name.size() > name_length_max) return false;
  if (!std::ranges::all_of(name, is_printable) || name.find('\\') != name.npos) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace

Status check_artifact(const ArtifactFile& file) {
  if (!is_safe_name(file.name)) {
    return invalid("file name " + describe(json(file.name)) + " is not a plain relative path");
  }
  if (file.bytes < 0 || file.bytes > file_bytes_max) {
    return invalid("file " + file.name + ": bytes must be 0 to " + std::to_string(file_bytes_max) +
                   ", got " + std::to_string(file.bytes));
  }
  if (!is_sha256(file.sha256)) {
    return invalid("file " + file.name + ": sha256 must be 64 lower-case hex digits, got " +
                   describe(json(file.sha256)));
  }
  return ok();
}

json artifact_to_json(const ArtifactFile& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}};
}

json artifacts_to_json(const std::vector<ArtifactFile>& files) {
  json array = json::array();
  for (const ArtifactFile& file : files) array.push_back(artifact_to_json(file));
  return array;
}

ArtifactFile read_artifact(const JsonPlace& place) {
  const std::size_t faults_before = place.faults.size();
  ArtifactFile file;
  Fields fields(place, Absence::is_a_fault);
  fields.text("name", file.name, printable_rule(1, name_length_max));
  fields.integer("bytes", file.bytes, {0, file_bytes_max});
  fields.text("sha256", file.sha256, printable_rule(64, 64));
  if (place.faults.size() == faults_before) {
    if (const Status status = check_artifact(file); !status) place.fault(status.error().message);
  }
  return file;
}

std::vector<ArtifactFile> read_artifacts(const JsonPlace& place) {
  std::vector<ArtifactFile> files;
  if (!place.value.is_array() || place.value.size() > files_max) {
    place.fault("must be an array of at most " + std::to_string(files_max) + " files");
    return files;
  }
  for (const json& item : place.value) {
    files.push_back(read_artifact(
        {item, child_pointer(place.pointer, std::to_string(files.size())), place.faults}));
  }
  return files;
}

}  // namespace trainyard
