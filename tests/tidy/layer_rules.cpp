// The rules about who may use whom: includes, cores, CMake targets.
#include <algorithm>
#include <optional>

#include "tests/tidy/layers.h"
#include "tests/tidy/rules.h"
#include "tests/tidy/words.h"

namespace trainyard::tidy {
namespace {

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

// The row with the longest name that holds the folder. A program's own folder ("agent") holds only
// itself.
const Layer* layer_of(std::string_view folder) {
  const Layer* best = nullptr;
  for (const Layer& layer : layers) {
    const bool whole_program = layer.folder.find('/') == layer.folder.npos;
    const bool holds =
        whole_program ? folder == layer.folder : is_at_or_below(folder, layer.folder);
    if (holds && (best == nullptr || layer.folder.size() > best->folder.size())) best = &layer;
  }
  return best;
}

bool may_use(const Layer& layer, std::string_view target) {
  if (is_at_or_below(target, layer.folder)) return true;
  return std::ranges::any_of(words_of(layer.ours), [&](std::string_view allowed) {
    return is_at_or_below(target, allowed);
  });
}

struct Include {
  std::string_view target;
  bool quoted = false;
};

std::optional<Include> include_of(std::string_view line) {
  constexpr std::string_view directive = "#include ";
  if (!line.starts_with(directive)) return std::nullopt;
  line.remove_prefix(directive.size());
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == line.npos) return std::nullopt;
  return Include{line.substr(1, end - 1), line[0] == '"'};
}

// "" for the standard library, "posix" for what no library claims.
std::string_view library_of(std::string_view header) {
  for (const Library& library : libraries) {
    for (const std::string_view prefix : words_of(library.prefixes)) {
      if (header.starts_with(prefix)) return library.name;
    }
  }
  return header.find_first_of("./") == header.npos ? "" : "posix";
}

bool is_core(std::string_view path) {
  return std::ranges::any_of(core_folders,
                             [&](std::string_view folder) { return is_at_or_below(path, folder); });
}

// Words of all lines of "trainyard_library(...)" that begins at `line`; without the parentheses.
std::string call_at(const SourceFile& file, std::size_t line) {
  std::string call;
  for (; line < file.lines.size(); ++line) {
    call += file.lines[line] + " ";
    if (file.lines[line].find(')') != std::string::npos) break;
  }
  const std::size_t open = call.find('(');
  return call.substr(open + 1, call.find(')') - open - 1);
}

}  // namespace

Findings check_includes(const SourceFile& file) {
  const std::string_view folder = folder_of(file.path);
  const Layer* layer = layer_of(folder);
  if (layer == nullptr) {
    return {{file.path, 0, "its folder has no row in tests/tidy/layers.h"}};
  }
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const auto include = include_of(file.lines[i]);
    if (!include) continue;
    const std::string target(include->target);
    if (include->quoted) {
      if (!may_use(*layer, target)) {
        findings.push_back({file.path, i + 1, std::string(folder) + " may not include " + target});
      }
      continue;
    }
    const std::string_view library = library_of(target);
    if (!library.empty() && !lists(layer->outside, library)) {
      findings.push_back(
          {file.path, i + 1,
           std::string(folder) + " may not use " + std::string(library) + " (" + target + ")"});
    }
  }
  return findings;
}

Findings check_core(const SourceFile& file) {
  if (!is_core(file.path)) return {};
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const auto include = include_of(file.lines[i]);
    if (include && (lists(core_banned_headers, include->target) ||
                    include->target == "schemas/base/clock.h")) {
      findings.push_back(
          {file.path, i + 1, "a core may not include " + std::string(include->target)});
    }
    if (code_of(file.lines[i]).find("::now(") != std::string_view::npos) {
      findings.push_back({file.path, i + 1, "a core may not read a clock"});
    }
    for (const std::string_view word : words_of(core_banned_words)) {
      if (calls(code_of(file.lines[i]), word)) {
        findings.push_back({file.path, i + 1, "a core may not call " + std::string(word) + "()"});
      }
    }
  }
  return findings;
}

Findings check_targets(const SourceFile& cmake_lists) {
  Findings findings;
  for (std::size_t i = 0; i < cmake_lists.lines.size(); ++i) {
    if (!cmake_lists.lines[i].starts_with("trainyard_library(")) continue;
    const std::string call = call_at(cmake_lists, i);
    const std::vector<std::string_view> words = words_of(call);
    const std::string folder(words.at(0));
    const Layer* layer = layer_of(folder);
    if (layer == nullptr || layer->folder != folder) {
      findings.push_back({cmake_lists.path, i + 1, folder + " has no row in tests/tidy/layers.h"});
      continue;
    }
    bool in_deps = false;
    for (const std::string_view word : words) {
      if (word == "DEPS" || word == "OUTSIDE") {
        in_deps = word == "DEPS";
      } else if (in_deps && !may_use(*layer, word)) {
        findings.push_back(
            {cmake_lists.path, i + 1, folder + " may not depend on " + std::string(word)});
      }
    }
  }
  return findings;
}

}  // namespace trainyard::tidy
