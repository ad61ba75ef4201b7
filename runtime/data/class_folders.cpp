#include "runtime/data/class_folders.h"

#include <algorithm>
#include <utility>

#include "runtime/data/row_split.h"

namespace trainyard::runtime {
namespace {

Status check_classes(const FolderListing& listing, const std::string& path) {
  if (listing.classes.size() > 1) return ok();
  return invalid("dataset.path: " + path + " has one class only, the folder " +
                 listing.classes.front());
}

// Of train/ and test/: both have the classes of train/.
Result<ClassFolders> list_two(const DatasetSpec& spec, const WantedFiles& wanted) {
  TRY_ASSIGN(FolderListing train, list_classes("dataset.path", spec.path + "/train", wanted));
  TRY(check_classes(train, spec.path + "/train"));
  TRY_ASSIGN(FolderListing test, list_classes("dataset.path", spec.path + "/test", wanted));
  std::vector<std::int32_t> labels;
  for (const std::string& name : test.classes) {
    const auto found = std::ranges::lower_bound(train.classes, name);
    if (found == train.classes.end() || *found != name) {
      return invalid("dataset.path: the class " + spec.path + "/test/" + name +
                     " is not one of those in " + spec.path + "/train");
    }
    labels.push_back(static_cast<std::int32_t>(found - train.classes.begin()));
  }
  for (ListedFile& file : test.files) file.label = labels[static_cast<std::size_t>(file.label)];
  return ClassFolders{.classes = std::move(train.classes),
                      .splits = {std::move(train.files), std::move(test.files)}};
}

std::vector<ListedFile> take(const std::vector<ListedFile>& files,
                             const std::vector<std::int64_t>& rows) {
  std::vector<ListedFile> taken;
  for (const std::int64_t row : rows) taken.push_back(files[static_cast<std::size_t>(row)]);
  return taken;
}

std::vector<std::int64_t> all_rows(const std::vector<ListedFile>& files) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < std::ssize(files); ++row) rows.push_back(row);
  return rows;
}

}  // namespace

Result<ClassFolders> list_class_folders(const DatasetSpec& spec, std::uint64_t seed,
                                        const WantedFiles& wanted) {
  ClassFolders files;
  SplitRows rows;
  if (is_folder(spec.path + "/train")) {
    TRY_ASSIGN(files, list_two(spec, wanted));
    rows = {.train = all_rows(files.splits[0]), .test = all_rows(files.splits[1])};
  } else {
    TRY_ASSIGN(FolderListing listing, list_classes("dataset.path", spec.path, wanted));
    TRY(check_classes(listing, spec.path));
    TRY_ASSIGN(rows, split_rows(spec, seed, std::ssize(listing.files)));
    files = {.classes = std::move(listing.classes), .splits = {listing.files, listing.files}};
  }
  TRY(keep_drawn_rows(spec, seed, rows));
  files.splits = {take(files.splits[0], rows.train), take(files.splits[1], rows.test)};
  return files;
}

}  // namespace trainyard::runtime
