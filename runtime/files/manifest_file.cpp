// Small and plain: JSON by schemas/wire, durability by DurableFile.
#include "runtime/files/manifest_file.h"

#include <algorithm>

#include "runtime/files/durable_file.h"
#include "runtime/files/shard_file.h"
#include "schemas/files/whole_file.h"

namespace trainyard::runtime {

Result<ArtifactFile> write_vocabulary(const std::string& folder, std::int64_t step,
                                      std::string_view words) {
  TRY_ASSIGN(DurableFile file, DurableFile::create(folder, step_folder(step) + "/vocabulary.txt"));
  TRY(file.add(words));
  return file.commit();
}

Result<ArtifactFile> write_manifest(const std::string& folder, const Manifest& manifest) {
  TRY_ASSIGN(DurableFile file, DurableFile::create(folder, manifest_name(manifest.step)));
  TRY(file.add(to_json(manifest)));
  return file.commit();
}

Result<Manifest> read_manifest(const RestoreFrom& restore) {
  const std::string path = restore.folder + "/" + restore.manifest.name;
  TRY_ASSIGN(const std::string text, read_file(path));
  if (sha256_hex(text) != restore.manifest.sha256) {
    return invalid(path + " is damaged: its sha256 is not " + restore.manifest.sha256);
  }
  return parse_manifest(text);
}

Status check_fits(const Manifest& manifest, std::span<const Variable> variables,
                  std::span<const std::string> slot_names, const RowLayout& rows) {
  const bool same_variables = std::ranges::equal(
      manifest.variables, variables, [](const VariableInfo& saved, const Variable& ours) {
        return saved.name == ours.name && saved.shape == ours.shape;
      });
  const bool same_rows = std::ranges::equal(
      manifest.rows, rows.variables, [](const VariableInfo& saved, const RowVariable& ours) {
        return saved.name == ours.name && saved.shape == std::vector{ours.columns} &&
               saved.table == ours.table;
      });
  if (!same_variables || !same_rows) {
    return conflict("the checkpoint of step " + std::to_string(manifest.step) +
                    " is of another model: its variables differ");
  }
  if (!std::ranges::equal(manifest.slots, slot_names)) {
    return conflict("the checkpoint of step " + std::to_string(manifest.step) +
                    " is of another optimizer: its slots differ");
  }
  return ok();
}

}  // namespace trainyard::runtime
