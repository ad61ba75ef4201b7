// The files of a data set that is a folder for each class.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::runtime {

struct ListedFile {
  std::string path;
  std::int32_t label = 0;  // the place of its class's name among the classes
};

struct FolderListing {
  std::vector<std::string> classes;  // names of the folders, by their bytes
  std::vector<ListedFile> files;     // class by class, by the bytes of their names
};

// Which files are looked for.
struct WantedFiles {
  std::string_view kind;  // "image", for messages
  bool (*is_wanted)(std::string_view name) = nullptr;
};

// Whether there is a folder of this name.
bool is_folder(const std::string& path);

// The files in the folders of `path` whose names are wanted; names that begin with a dot are passed
// over. `not_found` where there is no folder `path`, `invalid` where it has no folders, one
// of these has no such file, or they have more than can be kept in memory.
Result<FolderListing> list_classes(const std::string& field, const std::string& path,
                                   const WantedFiles& wanted);

// The files of the folder `path` alone, by the bytes of their names; with the same bounds.
Result<std::vector<std::string>> list_files(const std::string& field, const std::string& path);

}  // namespace trainyard::runtime
