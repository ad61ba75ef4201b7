#include "api/client/download.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "schemas/files/file.h"
#include "schemas/files/folder.h"
#include "schemas/files/sha256.h"
#include "schemas/wire/safetensors.h"

namespace trainyard::client {
namespace {

constexpr int attempts_max = 5;

std::string unquoted(std::string_view etag) {
  if (etag.size() < 2 || etag.front() != '"' || etag.back() != '"') return "";
  return std::string(etag.substr(1, etag.size() - 2));
}

// What an earlier attempt left is stale.
Status empty(const File& part, std::int64_t& have) {
  have = 0;
  if (::ftruncate(part.descriptor(), 0) == 0) return ok();
  return system_error("cannot empty " + part.path());
}

// One transfer; on return `etag` is what the server calls the file that it sends.
Status transfer(Rest& rest, const std::string& path, const File& part, std::string& etag) {
  Request request{.path = path, .timeout = {0}, .stall_limit = seconds(60)};
  TRY_ASSIGN(std::int64_t have, part.size());
  if (have > 0 && !etag.empty()) {
    request.headers["Range"] = "bytes=" + std::to_string(have) + "-";
    request.headers["If-Range"] = etag;
  }
  bool started = false;
  const Sink sink = [&](const Answer& head, std::string_view bytes) -> Status {
    if (!started) {
      started = true;
      etag = head.header("etag");
      if (head.status != 206) TRY(empty(part, have));
    }
    // No network's fault, and not to be tried again as one.
    if (const Status written = part.write_at(have, bytes); !written) {
      return invalid(written.error().message);
    }
    have += std::ssize(bytes);
    return ok();
  };
  TRY_ASSIGN(const Answer answer, rest.stream(request, sink));
  if (answer.status == 416) return ok();  // nothing after what is here: the check decides
  if (!answer.succeeded()) return problem_words(answer);
  return ok();
}

// That the server has the file, by one byte of it.
Status check_offered(Rest& rest, const std::string& path) {
  TRY_ASSIGN(const Answer answer, rest.send({.path = path, .headers = {{"Range", "bytes=0-0"}}}));
  return answer.succeeded() ? ok() : problem_words(answer);
}

// A file as it goes by: its hash, and as much of its start as was asked for.
struct Head {
  std::string bytes;
  std::int64_t wanted = 8;
};

Result<std::int64_t> tensors_of(const std::string& head, std::int64_t file_bytes) {
  TRY_ASSIGN(const SafetensorsHeader header, decode_safetensors_header(head, file_bytes));
  return std::ssize(header.entries);
}

// As the server begins one: field 1, the version of the format.
Status check_onnx(const std::string& head) {
  constexpr char version_field = 0x08;
  const bool begins_so = head.size() > 1 && head[0] == version_field;
  return begins_so ? ok() : invalid("it is no ONNX file");
}

Result<Downloaded> check(const std::string& file, const std::string& etag, ModelFormat format) {
  std::ifstream input(file, std::ios::binary);
  Sha256 hash;
  Head head;
  std::int64_t bytes = 0;
  constexpr std::size_t piece = 1U << 20;
  std::string buffer(piece, '\0');
  const bool is_onnx = format == ModelFormat::onnx;
  while (input.read(buffer.data(), static_cast<std::streamsize>(piece)), input.gcount() > 0) {
    const std::string_view part(buffer.data(), static_cast<std::size_t>(input.gcount()));
    hash.add(part);
    bytes += input.gcount();
    if (std::ssize(head.bytes) < head.wanted) head.bytes += part;
    if (!is_onnx && bytes >= 8 && head.wanted == 8) {
      TRY_ASSIGN(const std::int64_t length,
                 safetensors_header_length(std::string_view(head.bytes).substr(0, 8)));
      head.wanted += length;
    }
  }
  Downloaded result{.bytes = bytes, .sha256 = hash.finish_hex()};
  if (is_onnx) {
    TRY(check_onnx(head.bytes));
  } else {
    TRY_ASSIGN(result.tensors, tensors_of(head.bytes, bytes));
  }
  const std::string expected = unquoted(etag);
  if (is_sha256(expected) && expected != result.sha256) {
    return unavailable("the downloaded bytes do not have the sha256 that the server names");
  }
  return result;
}

}  // namespace

Result<Downloaded> download_model(Rest& rest, const Download& download) {
  std::error_code not_there;
  if (std::filesystem::is_directory(download.file, not_there)) {
    return invalid("cannot write " + download.file + ": it is a folder");
  }
  if (!download.replaces && std::filesystem::exists(download.file, not_there)) {
    TRY(check_offered(rest, download.path));  // the greater fault is told first
    return conflict(download.file +
                    " is there already: --force replaces it, --output FILE writes another");
  }
  const std::string part_path = download.file + ".part";
  std::string etag;
  {
    TRY_ASSIGN(const File part, File::open(part_path, O_RDWR | O_CREAT | O_TRUNC));
    Status transferred = ok();
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      transferred = transfer(rest, download.path, part, etag);
      TRY_ASSIGN(const std::int64_t have, part.size());
      const bool broke_off = !transferred && have > 0 && !calls_interrupted() &&
                             transferred.error().code == Code::unavailable;
      if (!broke_off) break;
    }
    if (!transferred) {
      std::remove(part_path.c_str());
      return transferred.error();
    }
    TRY(part.sync());
  }
  Result<Downloaded> checked = check(part_path, etag, download.format);
  if (!checked) {
    std::remove(part_path.c_str());
    return unavailable("the download is not whole: " + checked.error().message);
  }
  TRY(move_into_place(part_path, download.file));
  return checked;
}

}  // namespace trainyard::client
