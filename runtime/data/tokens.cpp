#include "runtime/data/tokens.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/data/data_file.h"
#include "runtime/data/folder_listing.h"
#include "runtime/data/text_file.h"
#include "runtime/data/tokenizer.h"
#include "runtime/data/window_set.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t stream_files_max = 65'536;
constexpr std::int64_t merged_text_max = std::int64_t{1} << 30;

// Those that the pattern means, or the one file.
Result<std::vector<std::string>> find_token_files(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  const std::size_t star = name.find('*');
  if (slash == std::string::npos || star == std::string::npos) return std::vector{path};
  const std::string begin = name.substr(0, star);
  const std::string end = name.substr(star + 1);
  if (end.find('*') != std::string::npos) return bad_data(path, "has more than one *");
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  TRY_ASSIGN(const std::vector<std::string> names, list_files("dataset.path", folder));
  std::vector<std::string> files;
  for (const std::string& each : names) {
    const bool is_meant =
        each.size() >= begin.size() + end.size() && each.starts_with(begin) && each.ends_with(end);
    if (is_meant) files.push_back(folder + "/" + each);
  }
  if (files.empty()) return bad_data(path, "no file has such a name");
  if (files.size() > stream_files_max) {
    return bad_data(path,
                    "more than " + std::to_string(stream_files_max) + " files have such names");
  }
  return files;
}

std::size_t bytes_of_token(TokenStorage storage) {
  switch (storage) {
    case TokenStorage::text: return 1;
    case TokenStorage::u16: return 2;
    case TokenStorage::u32: return 4;
  }
  return 1;
}

Result<std::int64_t> count_tokens(const std::string& path, std::size_t width) {
  TRY_ASSIGN(const Descriptor file, open_data_file("dataset.path", path));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) {
    return bad_data(path, "cannot be looked at: " + std::generic_category().message(errno));
  }
  const auto size = static_cast<std::int64_t>(found.st_size);
  const auto each = static_cast<std::int64_t>(width);
  if (size % each == 0) return size / each;
  return bad_data(path, "is cut short: " + std::to_string(size) +
                            " bytes are not whole tokens of " + std::to_string(width) + " bytes");
}

// Not mapped: a file that somebody cuts short while it is read would end the process.
Status read_stored_bytes(const std::string& path, std::int64_t first, std::span<std::uint8_t> to) {
  TRY_ASSIGN(const Descriptor file, open_data_file("dataset.path", path));
  while (!to.empty()) {
    const ssize_t count = ::pread(file.get(), to.data(), to.size(), first);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return bad_data(path, "cannot be read: " + std::generic_category().message(errno));
    }
    if (count == 0) return bad_data(path, "has become shorter since the job began");
    to = to.subspan(static_cast<std::size_t>(count));
    first += count;
  }
  return ok();
}

// Ids as they lie in files.
struct StoredTokens {
  std::vector<std::string> paths;
  std::size_t width = 1;        // bytes of a token
  std::int64_t vocabulary = 0;  // of bytes 257: each is its value and 1

  [[nodiscard]] Status read(std::size_t file, std::int64_t first,
                            std::span<std::int32_t> to) const {
    std::vector<std::uint8_t> bytes(to.size() * width);
    TRY(read_stored_bytes(paths[file], first * static_cast<std::int64_t>(width), bytes));
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::uint32_t id = 0;
      for (std::size_t byte = width; byte > 0; --byte) id = id << 8U | bytes[i * width + byte - 1];
      if (width == 1) ++id;
      if (id >= vocabulary) {
        return bad_data(paths[file], "token " +
                                         std::to_string(first + static_cast<std::int64_t>(i)) +
                                         " (counted from 0) is not below dataset.vocabulary, " +
                                         std::to_string(vocabulary));
      }
      to[i] = static_cast<std::int32_t>(id);
    }
    return ok();
  }
};

Result<TokenFiles> open_stored(const DatasetSpec& spec, std::vector<std::string> paths,
                               DataShape& shape) {
  const SequenceSpec& sequence = spec.sequence;
  const bool is_bytes = sequence.storage == TokenStorage::text;
  shape.vocabulary = is_bytes ? bytes_vocabulary : sequence.vocabulary;
  const auto stored =
      std::make_shared<const StoredTokens>(StoredTokens{.paths = std::move(paths),
                                                        .width = bytes_of_token(sequence.storage),
                                                        .vocabulary = shape.vocabulary});
  TokenFiles files;
  for (const std::string& path : stored->paths) {
    TRY_ASSIGN(const std::int64_t tokens, count_tokens(path, stored->width));
    files.tokens.push_back(tokens);
  }
  files.read = [stored](std::size_t file, std::int64_t first, std::span<std::int32_t> to) {
    return stored->read(file, first, to);
  };
  return files;
}

// Numbers: vocabulary. Arrays: where each file's ids end, ids.
Result<DecodedData> tokenize(const DatasetSpec& spec, const std::vector<std::string>& paths) {
  TRY_ASSIGN(const auto tokenizer, make_tokenizer(spec.sequence.tokenizer, {}));
  std::vector<std::int64_t> ends;
  std::vector<std::int32_t> ids;
  std::int64_t bytes_left = merged_text_max;
  for (const std::string& path : paths) {
    TRY_ASSIGN(const std::string text, read_text_file("dataset.path", path, bytes_left));
    bytes_left -= std::ssize(text);
    if (const std::int64_t line = line_not_utf8(text); line > 0) {
      return bad_data(path, "line " + std::to_string(line) + " is not UTF-8");
    }
    tokenizer->append(text, text.size(), ids);
    ends.push_back(std::ssize(ids));
  }
  return decoded_data({tokenizer->vocabulary()}, std::move(ends), std::move(ids));
}

bool is_sound_merged(const DecodedData& data, std::size_t files) {
  if (data.numbers.size() != 1 || data.arrays.size() != 2) return false;
  const auto ends = array_of<std::int64_t>(data, 0);
  const auto ids = array_of<std::int32_t>(data, 1);
  return ends.size() == files && ends.front() >= 0 && std::ranges::is_sorted(ends) &&
         ends.back() == std::ssize(ids) &&
         std::ranges::all_of(ids, [vocabulary = data.numbers[0]](std::int32_t id) {
           return id >= 0 && id < vocabulary;
         });
}

Result<TokenFiles> open_merged(const DatasetSpec& spec, const std::vector<std::string>& paths,
                               const DataCache& cache, DataShape& shape) {
  DataCache::Source source{.reader = "tokens 1 bpe", .files = paths};
  source.files.push_back(spec.sequence.tokenizer.path);
  TRY_ASSIGN(const DecodedData data, cache.get(
                                         source, [&] { return tokenize(spec, paths); },
                                         [&paths](const DecodedData& found) {
                                           return is_sound_merged(found, paths.size());
                                         }));
  shape.vocabulary = data.numbers[0];
  const auto ends = array_of<std::int64_t>(data, 0);
  TokenFiles files;
  std::vector<std::int64_t> begins;
  for (const std::int64_t end : ends) {
    begins.push_back(begins.empty() ? 0 : begins.back() + files.tokens.back());
    files.tokens.push_back(end - begins.back());
  }
  files.read = [data, begins](std::size_t file, std::int64_t first, std::span<std::int32_t> to) {
    const auto ids = array_of<std::int32_t>(data, 1);
    std::ranges::copy(ids.subspan(static_cast<std::size_t>(begins[file] + first), to.size()),
                      to.begin());
    return ok();
  };
  return files;
}

Status keep_first_windows(const DatasetSpec& spec, const std::string& field, std::int64_t wanted,
                          std::int64_t& windows) {
  if (wanted == 0) return ok();
  if (wanted > windows) {
    return bad_data(spec.path, "dataset." + field + " is " + std::to_string(wanted) +
                                   ", but that split has " + std::to_string(windows) + " windows");
  }
  windows = wanted;
  return ok();
}

Result<WindowSplit> split_windows(const DatasetSpec& spec, std::int64_t windows) {
  const auto test = static_cast<std::int64_t>(
      std::floor(spec.test_fraction * static_cast<double>(windows) + 0.5));
  if (test < 1 || test >= windows) {
    return bad_data(spec.path, "of its " + std::to_string(windows) + " windows of " +
                                   std::to_string(spec.sequence.length) +
                                   " tokens dataset.test_fraction leaves none for training or "
                                   "none for the test");
  }
  WindowSplit split{.train = windows - test, .test_first = windows - test, .test = test};
  TRY(keep_first_windows(spec, "train_examples", spec.train_examples, split.train));
  TRY(keep_first_windows(spec, "test_examples", spec.test_examples, split.test));
  return split;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_tokens(const DatasetSpec& spec, const DataCache& cache) {
  const std::int64_t length = spec.sequence.length;
  DataShape shape{.example = {length},
                  .features = length,
                  .layout = FeatureLayout::ids,
                  .labels = LabelLayout::tokens};
  TRY_ASSIGN(std::vector<std::string> paths, find_token_files(spec.path));
  const bool is_merged = spec.sequence.storage == TokenStorage::text &&
                         spec.sequence.tokenizer.name == TokenizerName::bpe;
  TRY_ASSIGN(TokenFiles files, is_merged ? open_merged(spec, paths, cache, shape)
                                         : open_stored(spec, std::move(paths), shape));
  std::int64_t windows = 0;
  for (const std::int64_t tokens : files.tokens) windows += windows_of(tokens, length);
  TRY_ASSIGN(const WindowSplit split, split_windows(spec, windows));
  return std::unique_ptr<Dataset>(
      std::make_unique<WindowSet>(std::move(shape), std::move(files), split));
}

}  // namespace trainyard::runtime
