// Where the data files of a job may be: folders that the operator of an agent names, or anywhere.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// By which a task is told its agent's: absolute paths without links, joined by ':'; "" = anywhere.
inline constexpr char data_roots_variable[] = "TRAINYARD_DATA_ROOTS";

inline std::string join_data_roots(const std::vector<std::string>& roots) {
  std::string joined;
  for (const std::string& root : roots) joined += (joined.empty() ? "" : ":") + root;
  return joined;
}

inline std::vector<std::string> split_data_roots(std::string_view joined) {
  std::vector<std::string> roots;
  while (!joined.empty()) {
    const std::string_view root = joined.substr(0, joined.find(':'));
    if (!root.empty()) roots.emplace_back(root);
    joined.remove_prefix(std::min(joined.size(), root.size() + 1));
  }
  return roots;
}

// Of an absolute path without "..", and without links if the roots have none.
inline bool is_below_data_root(std::string_view path, const std::vector<std::string>& roots) {
  const auto holds = [path](const std::string& root) {
    if (root == "/" || path == root) return true;
    return path.starts_with(root) && path[root.size()] == '/';
  };
  return roots.empty() || std::any_of(roots.begin(), roots.end(), holds);
}

// `field`: "dataset.path".
inline std::string outside_data_roots(const std::string& field, const std::string& path,
                                      const std::vector<std::string>& roots) {
  return field + ": " + path + " is outside of what this agent may read for jobs, " +
         join_data_roots(roots) + " (its --data-root)";
}

}  // namespace trainyard
