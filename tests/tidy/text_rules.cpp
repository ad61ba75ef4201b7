// The rules about how files are written and named.
#include <algorithm>
#include <iterator>
#include <string>

#include "tests/tidy/layers.h"
#include "tests/tidy/rules.h"
#include "tests/tidy/words.h"

namespace trainyard::tidy {
namespace {

constexpr std::size_t lines_max = 400;
constexpr std::size_t columns_max = 100;
constexpr std::size_t function_lines_max = 70;

bool is_cpp(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cpp") || path.ends_with(".cu");
}

// Letters, not bytes: a drawing may have arrows.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

// Does a function begin in this line? By our layout it does so in column 0, and its last line is a
// "}" there.
bool begins_function(std::string_view line) {
  if (line.empty() || line.find('(') == line.npos || line.ends_with(';') || line.ends_with('}')) {
    return false;
  }
  return is_identifier_letter(line.front()) && !line.starts_with("namespace") &&
         !line.starts_with("struct") && !line.starts_with("class") && !line.starts_with("enum") &&
         !line.starts_with("constexpr") && !line.starts_with("inline constexpr std::array");
}

Findings check_functions(const SourceFile& file) {
  Findings findings;
  std::size_t begin = file.lines.size();  // line of the signature; none yet
  std::size_t body_begin = 0;             // of the first line of the body; 0 = there is none yet
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (line.starts_with('}')) {
      if (body_begin > 0 && i - body_begin > function_lines_max) {
        findings.push_back({file.path, begin + 1,
                            "a function of " + std::to_string(i - body_begin) +
                                " lines; the most is " + std::to_string(function_lines_max)});
      }
      body_begin = 0;
      begin = file.lines.size();
    } else if (body_begin == 0) {
      if (begins_function(line)) begin = i;
      if (line.ends_with('{') && begin <= i) body_begin = i + 1;
      if (line.ends_with(';')) begin = file.lines.size();
    }
  }
  return findings;
}

}  // namespace

std::string to_text(const Finding& finding) {
  const std::string line = finding.line == 0 ? "" : ":" + std::to_string(finding.line);
  return finding.path + line + ": " + finding.message;
}

Findings check_lengths(const SourceFile& file) {
  Findings findings;
  if (file.lines.size() > lines_max) {
    findings.push_back(
        {file.path, 0,
         std::to_string(file.lines.size()) + " lines; the most is " + std::to_string(lines_max)});
  }
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (columns(file.lines[i]) <= columns_max) continue;
    findings.push_back({file.path, i + 1,
                        std::to_string(columns(file.lines[i])) + " columns; the most is " +
                            std::to_string(columns_max)});
  }
  if (is_cpp(file.path)) std::ranges::move(check_functions(file), std::back_inserter(findings));
  return findings;
}

Findings check_layout(const SourceFile& file) {
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (line.find('\t') != line.npos) findings.push_back({file.path, i + 1, "a tab"});
    if (line.ends_with(' ')) findings.push_back({file.path, i + 1, "a blank at the line's end"});
  }
  if (!file.path.ends_with(".h")) return findings;
  if (std::ranges::find(file.lines, "#pragma once") == file.lines.end()) {
    findings.push_back({file.path, 0, "no #pragma once"});
  }
  if (file.lines.empty() || !file.lines[0].starts_with("//")) {
    findings.push_back({file.path, 1, "a header opens with a sentence on what it is for"});
  }
  return findings;
}

Findings check_words(const SourceFile& file) {
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    for (const std::string_view mark : {"TO"
                                        "DO",
                                        "FIX"
                                        "ME"}) {
      const std::size_t at = line.find(mark);
      if (at != line.npos && !std::string_view(line).substr(at + mark.size()).starts_with('(')) {
        findings.push_back({file.path, i + 1, std::string(mark) + " without a name"});
      }
    }
    // A loop that looks for its condition until a deadline may rest, and says so.
    if (line.find("// between two looks") != line.npos) continue;
    if (!file.path.starts_with("tests/") || !is_cpp(file.path)) continue;
    for (const std::string_view word :
         {"sleep_for", "sleep_until", "usleep", "nanosleep", "sleep"}) {
      if (calls(code_of(line), word)) {
        findings.push_back({file.path, i + 1, "a test may not sleep: wait for a condition"});
      }
    }
  }
  return findings;
}

// Sums that are added in the order of threads differ from run to run.
Findings check_atomics(const SourceFile& file) {
  Findings findings;
  if (!file.path.starts_with("runtime/graph/grid/") &&
      !file.path.starts_with("runtime/graph/cuda/"))
    return findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string code(code_of(file.lines[i]));
    if (code.find("atomic") != code.npos) {
      findings.push_back({file.path, i + 1, "no kernel adds with atomics: docs/decisions/0022"});
    }
  }
  return findings;
}

Findings check_name(const std::string& path) {
  constexpr std::string_view banned =
      "util utils helper helpers common misc miscellaneous manager managers";
  std::string words = path;
  std::ranges::replace_if(
      words, [](char byte) { return !is_identifier_letter(byte) || byte == '_'; }, ' ');
  for (const std::string_view word : words_of(words)) {
    if (lists(banned, word)) {
      return {{path, 0, "\"" + std::string(word) + "\" says nothing: name the thing"}};
    }
  }
  return {};
}

Findings check_top_folder(const std::string& folder) {
  if (folder.starts_with('.') || lists(top_folders, folder)) return {};
  return {{folder, 0, "is no folder of the tree: " + std::string(top_folders)}};
}

Findings check_file(const SourceFile& file) {
  Findings findings;
  const auto add = [&](Findings more) { std::ranges::move(more, std::back_inserter(findings)); };
  const bool layered =
      is_cpp(file.path) && !file.path.starts_with("tests/") && !file.path.starts_with("examples/");
  if (layered) add(check_includes(file));
  if (layered) add(check_core(file));
  add(check_lengths(file));
  add(check_layout(file));
  add(check_words(file));
  add(check_atomics(file));
  add(check_name(file.path));
  return findings;
}

}  // namespace trainyard::tidy
