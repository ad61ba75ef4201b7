// Holes in log files.
#include "agent/loop/log_bound.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "agent/host/tail.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

constexpr std::int64_t block = 4096;
// What may be on its way to the server while a cut is made is not cut.
constexpr std::int64_t margin = 1 << 20;

std::int64_t block_before(std::int64_t offset) { return offset / block * block; }

Status punch(const File& file, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return ok();
  if (::fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin,
                  end - begin) == 0) {
    return ok();
  }
  return unavailable(std::string("a log cannot be cut: ") + std::strerror(errno));
}

constexpr std::size_t progress_bytes_max = 128;
std::string progress_file(const std::string& log) { return log + ".progress"; }

std::string cut_line(const LogCut& cut) {
  return "\n[trainyard: this log was too large for its host, " +
         std::to_string(cut.end - cut.begin) + " bytes are cut out here]\n";
}

}  // namespace

LogProgress written_progress(const std::string& log) {
  const Result<std::string> text = read_piece(progress_file(log), 0, progress_bytes_max);
  std::istringstream words(text ? *text : "");
  LogProgress progress;
  words >> progress.shipped >> progress.cut.begin >> progress.cut.end;
  const auto& [shipped, cut] = progress;
  const bool is_cut = 0 < cut.begin && cut.begin <= cut.end;
  const bool is_whole = cut.begin == 0 && cut.end == 0;
  return words && shipped >= 0 && (is_cut || is_whole) ? progress : LogProgress{};
}

Status write_progress(const std::string& log, const LogProgress& progress) {
  return write_file(progress_file(log), std::to_string(progress.shipped) + " " +
                                            std::to_string(progress.cut.begin) + " " +
                                            std::to_string(progress.cut.end) + "\n");
}

Result<LogCut> bound_log(const LogOnDisk& log) {
  struct stat facts {};
  if (::stat(log.path.c_str(), &facts) != 0) return log.cut;  // it has written nothing yet
  if (facts.st_blocks * 512 <= log.bytes_max) return log.cut;
  const std::int64_t part = log.bytes_max / 4;
  LogCut cut = log.cut;
  if (cut.end == 0) cut.begin = block_before(std::max(part, log.shipped + margin));
  cut.end = std::max({cut.begin, cut.end, block_before(facts.st_size - part)});
  if (cut.begin >= cut.end) return log.cut;  // what is beyond the bound is yet to be shipped
  TRY_ASSIGN(const File file, File::open(log.path, O_WRONLY));
  TRY(write_progress(log.path, {.shipped = log.shipped, .cut = cut}));  // nobody ships the hole
  TRY(punch(file, cut.begin, cut.end));
  TRY(punch(file, block_before(part), block_before(std::min(log.shipped, cut.begin))));
  return cut;
}

Result<std::string> read_log(const std::string& path, const LogCut& cut, const LogSpan& piece) {
  if (cut.end == 0) return read_piece(path, piece.offset, piece.bytes_max);
  if (piece.offset < cut.begin) {
    const auto left = static_cast<std::size_t>(cut.begin - piece.offset);
    return read_piece(path, piece.offset, std::min(piece.bytes_max, left));
  }
  if (!piece.ended) return std::string();
  const std::string line = cut_line(cut);
  const auto behind = static_cast<std::size_t>(piece.offset - cut.begin);
  if (behind < line.size()) return line.substr(behind, piece.bytes_max);
  return read_piece(path, cut.end + static_cast<std::int64_t>(behind - line.size()),
                    piece.bytes_max);
}

}  // namespace trainyard::agent
