#include "runtime/data/folder_listing.h"

#include <algorithm>
#include <filesystem>

#include "runtime/data/data_file.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t classes_max = 65'536;
constexpr std::size_t files_max = 4'000'000;  // some 600 MB of paths

enum class EntryKind { folder, file };

// Names of what is in the folder, in the order of their bytes.
Result<std::vector<std::string>> list_folder(const std::string& field, const std::string& path,
                                             EntryKind kind) {
  TRY_ASSIGN(const Descriptor opened, open_data_folder(field, path));
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path_of(opened), error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const bool is_wanted =
        kind == EntryKind::folder ? entry->is_directory(gone) : entry->is_regular_file(gone);
    std::string name = entry->path().filename().string();
    if (!is_wanted || gone || name.starts_with('.')) continue;
    if (names.size() == files_max) {
      return invalid(field + ": " + path + " has more than " + std::to_string(files_max) +
                     " entries");
    }
    names.push_back(std::move(name));
  }
  if (error) return invalid(field + ": cannot list " + path + ": " + error.message());
  std::ranges::sort(names);
  return names;
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Result<std::vector<std::string>> list_files(const std::string& field, const std::string& path) {
  return list_folder(field, path, EntryKind::file);
}

Result<FolderListing> list_classes(const std::string& field, const std::string& path,
                                   const WantedFiles& wanted) {
  FolderListing listing;
  TRY_ASSIGN(listing.classes, list_folder(field, path, EntryKind::folder));
  if (listing.classes.empty()) {
    return invalid(field + ": " + path + " has no folders; there is one for each class");
  }
  if (listing.classes.size() > classes_max) {
    return invalid(field + ": " + path + " has more than " + std::to_string(classes_max) +
                   " folders");
  }
  for (std::size_t label = 0; label < listing.classes.size(); ++label) {
    const std::string folder = path + "/" + listing.classes[label];
    TRY_ASSIGN(std::vector<std::string> names, list_folder(field, folder, EntryKind::file));
    std::erase_if(names, [&wanted](const std::string& name) { return !wanted.is_wanted(name); });
    if (names.empty()) {
      return invalid(field + ": the folder " + folder + " has no " + std::string(wanted.kind) +
                     " files");
    }
    if (names.size() > files_max - listing.files.size()) {
      return invalid(field + ": " + path + " has more than " + std::to_string(files_max) +
                     " files");
    }
    for (const std::string& name : names) {
      listing.files.push_back({folder + "/" + name, static_cast<std::int32_t>(label)});
    }
  }
  return listing;
}

}  // namespace trainyard::runtime
