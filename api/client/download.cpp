#include "api/client/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "schemas/wire/safetensors.h"
#include "schemas/wire/sha256.h"

namespace trainyard::client {
namespace {

constexpr int attempts_max = 5;

std::string system_words() { return std::generic_category().message(errno); }

// The file being written; what an earlier attempt left in it is kept until the server says that it
// is stale.
class PartFile {
 public:
  static Result<PartFile> open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0644);
    if (descriptor < 0) return invalid("cannot write " + path + ": " + system_words());
    return PartFile(descriptor);
  }
  PartFile(PartFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] std::int64_t size() const {
    struct stat status {};
    return fstat(descriptor_, &status) == 0 ? status.st_size : 0;
  }
  Status start_again() {
    if (ftruncate(descriptor_, 0) != 0)
      return unavailable("cannot empty the file: " + system_words());
    return ok();
  }
  Status append(std::string_view bytes) {
    std::int64_t offset = size();
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return invalid("cannot write the file: " + system_words());
      bytes.remove_prefix(static_cast<std::size_t>(written));
      offset += written;
    }
    return ok();
  }
  Status make_durable() {
    if (fsync(descriptor_) != 0) return unavailable("cannot write the file: " + system_words());
    return ok();
  }

 private:
  explicit PartFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

std::string unquoted(std::string_view etag) {
  if (etag.size() < 2 || etag.front() != '"' || etag.back() != '"') return "";
  return std::string(etag.substr(1, etag.size() - 2));
}

// One transfer; on return `etag` is what the server calls the file that it sends.
Status transfer(Rest& rest, const std::string& path, PartFile& part, std::string& etag) {
  Request request{.path = path, .timeout = {0}, .stall_limit = seconds(60)};
  const std::int64_t have = part.size();
  if (have > 0 && !etag.empty()) {
    request.headers["Range"] = "bytes=" + std::to_string(have) + "-";
    request.headers["If-Range"] = etag;
  }
  bool started = false;
  const Sink sink = [&](const Answer& head, std::string_view bytes) -> Status {
    if (!started) {
      started = true;
      etag = head.header("etag");
      if (head.status != 206) TRY(part.start_again());
    }
    return part.append(bytes);
  };
  TRY_ASSIGN(const Answer answer, rest.stream(request, sink));
  if (answer.status == 416) return ok();  // nothing after what is here: the check decides
  if (!answer.succeeded()) return problem_words(answer);
  return ok();
}

Result<Downloaded> check(const std::string& file, const std::string& etag) {
  std::ifstream input(file, std::ios::binary);
  Sha256 hash;
  std::string head;
  std::int64_t bytes = 0;
  constexpr std::size_t piece = 1U << 20;
  std::string buffer(piece, '\0');
  std::int64_t head_bytes = 8;
  while (input.read(buffer.data(), static_cast<std::streamsize>(piece)), input.gcount() > 0) {
    const std::string_view part(buffer.data(), static_cast<std::size_t>(input.gcount()));
    hash.add(part);
    bytes += input.gcount();
    if (std::ssize(head) < head_bytes) head += part;
    if (bytes >= 8 && head_bytes == 8) {
      TRY_ASSIGN(const std::int64_t length,
                 safetensors_header_length(std::string_view(head).substr(0, 8)));
      head_bytes += length;
    }
  }
  TRY_ASSIGN(const SafetensorsHeader header, decode_safetensors_header(head, bytes));
  Downloaded result{
      .bytes = bytes, .tensors = std::ssize(header.entries), .sha256 = hash.finish_hex()};
  const std::string expected = unquoted(etag);
  const bool etag_is_sha256 =
      expected.size() == 64 && expected.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (etag_is_sha256 && expected != result.sha256) {
    return unavailable("the downloaded bytes do not have the sha256 that the server names");
  }
  return result;
}

}  // namespace

Result<Downloaded> download_model(Rest& rest, const Download& download) {
  const std::string part_path = download.file + ".part";
  std::string etag;
  {
    TRY_ASSIGN(PartFile part, PartFile::open(part_path));
    Status transferred = ok();
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      transferred = transfer(rest, download.path, part, etag);
      const bool broke_off = !transferred && part.size() > 0 && !calls_interrupted() &&
                             transferred.error().code == Code::unavailable;
      if (!broke_off) break;
    }
    if (!transferred) {
      std::remove(part_path.c_str());
      return transferred.error();
    }
    TRY(part.make_durable());
  }
  Result<Downloaded> checked = check(part_path, etag);
  if (!checked) {
    std::remove(part_path.c_str());
    return unavailable("the download is not whole: " + checked.error().message);
  }
  if (std::rename(part_path.c_str(), download.file.c_str()) != 0) {
    return invalid("cannot write " + download.file + ": " + system_words());
  }
  return checked;
}

}  // namespace trainyard::client
