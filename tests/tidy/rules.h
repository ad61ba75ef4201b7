// The rules that the source keeps, each a function from a file to what is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::tidy {

struct SourceFile {
  std::string path;  // from the repository's root
  std::vector<std::string> lines;
};

struct Finding {
  std::string path;
  std::size_t line = 0;  // from 1; 0 = the whole file
  std::string message;
  bool operator==(const Finding&) const = default;
};
std::string to_text(const Finding& finding);

using Findings = std::vector<Finding>;

Findings check_includes(const SourceFile& file);  // the layer table
Findings check_core(const SourceFile& file);      // no clock, no chance, no world in cores
Findings check_lengths(const SourceFile& file);   // files, lines, functions
Findings check_layout(const SourceFile& file);    // tabs, trailing blanks, headers' first lines
Findings check_words(const SourceFile& file);     // nameless notes; tests that sleep
Findings check_atomics(const SourceFile& file);   // none in kernels
Findings check_name(const std::string& path);     // utils, helpers, common, misc, manager
Findings check_top_folder(const std::string& folder);
// Each trainyard_library of CMakeLists.txt depends on nothing that the layer table forbids.
Findings check_targets(const SourceFile& cmake_lists);

// All of the above that look at one file.
Findings check_file(const SourceFile& file);

}  // namespace trainyard::tidy
