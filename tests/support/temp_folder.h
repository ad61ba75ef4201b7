// A folder of a test's own, and files that are read and written whole.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

// A new folder, removed with all that is in it when the object goes.
class TempFolder {
 public:
  TempFolder();  // below the system's temporary folder
  explicit TempFolder(const std::string& parent);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // The path of the file or the folder of that name in it, whether it is there or not.
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  // As write_content(); the file's path.
  std::string write(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
};

// "" where there is no such file.
std::string content_of(const std::string& path);
// Writes the file anew, in folders that are made where they are missing. Throws when it cannot.
void write_content(const std::string& path, std::string_view content);

}  // namespace trainyard
