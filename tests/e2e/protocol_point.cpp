#include "tests/e2e/protocol_point.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/e2e/frame_name.h"

namespace trainyard::e2e {
namespace {

namespace fs = std::filesystem;

// Of a message so much is looked at: a header and more.
constexpr std::size_t kLook = 4096;

// "step-40" and "step-50" are one: "step-N"; so are all jobs, and all files that are named by a
// digest of their own or of what they are made of.
std::string without_numbers(const std::string& name) {
  constexpr std::size_t digest_letters_min = 16;
  const std::size_t end = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
  if (end >= digest_letters_min) return "DIGEST" + name.substr(end);
  if (name.starts_with("j-")) return "j-ID";
  std::string text;
  for (const char letter : name) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(letter)) != 0;
    if (is_digit && text.ends_with('N')) continue;
    text += is_digit ? 'N' : letter;
  }
  return text;
}

std::string file_name(const std::string& path) {
  return without_numbers(fs::path(path).filename().string());
}

msghdr header_of(const WatchedCall& call) {
  msghdr header{};
  const std::string bytes = call.memory(call.argument(1), sizeof header);
  std::memcpy(&header, bytes.data(), bytes.size());
  return header;
}

// Where the bytes of a call lie, or go to, in its caller.
std::vector<iovec> places_of(const WatchedCall& call) {
  const msghdr header = header_of(call);
  const std::string list = call.memory(reinterpret_cast<std::uint64_t>(header.msg_iov),
                                       header.msg_iovlen * sizeof(iovec));
  std::vector<iovec> places(list.size() / sizeof(iovec));
  // None where the process is dead already.
  if (!places.empty()) std::memcpy(places.data(), list.data(), places.size() * sizeof(iovec));
  return places;
}

// A call's name is written out when a connection makes its first one of that name: of connections
// that last longer than a job it is not seen again.
std::string call_name(const std::string& bytes) {
  constexpr std::string_view package = "/trainyard.proto.";
  const std::size_t service = bytes.find(package);
  if (service == std::string::npos) return "gRPC";
  const std::size_t method = bytes.find('/', service + package.size());
  if (method == std::string::npos) return "gRPC";
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(method + 1);
  return "gRPC " + std::string(begin, std::find_if_not(begin, bytes.end(), [](char letter) {
                                 return std::isalpha(static_cast<unsigned char>(letter)) != 0;
                               }));
}

std::string call_of(const std::string& role, const std::string& bytes) {
  return role == "agent" || role == "server" ? "gRPC" : call_name(bytes);
}

}  // namespace

std::span<const int> seen_calls() {
  static constexpr std::array calls{SYS_sendmsg,  SYS_sendto,    SYS_recvmsg,   SYS_write,
                                    SYS_pwrite64, SYS_fsync,     SYS_fdatasync, SYS_rename,
                                    SYS_openat,   SYS_connect,   SYS_accept4,   SYS_unlink,
                                    SYS_unlinkat, SYS_ftruncate, SYS_mkdir,     SYS_exit_group};
  return calls;
}

std::string sent_bytes(const WatchedCall& call, std::size_t most) {
  std::string bytes;
  for (const iovec& piece : places_of(call)) {
    if (bytes.size() >= most) break;
    bytes += call.memory(reinterpret_cast<std::uint64_t>(piece.iov_base),
                         std::min(piece.iov_len, most - bytes.size()));
  }
  return bytes;
}

bool passes_files(const WatchedCall& call) { return header_of(call).msg_controllen > 0; }

std::optional<ProtocolPoint> ProtocolPoints::of(const WatchedCall& call) {
  const auto role = role_of(call.process());
  if (!role) return std::nullopt;
  const auto what = what_of(call, *role);
  if (!what) return std::nullopt;
  return ProtocolPoint{*role, *what};
}

// An agent starts a task in a folder that is named after it, and stays what it is. A child of an
// agent is one until it runs a task's program.
std::optional<std::string> ProtocolPoints::role_of(pid_t process) {
  if (const auto known = tasks_.find(process); known != tasks_.end()) return known->second;
  const std::string about = "/proc/" + std::to_string(process);
  std::ifstream program(about + "/comm");
  std::string name;
  std::getline(program, name);
  // The kernel keeps fifteen letters.
  if (name == "trainyard-serve") return "server";
  if (name == "trainyard-agent") return "agent";
  if (name != "trainyard-runti") return {};
  std::error_code error;
  const std::string task = fs::read_symlink(about + "/cwd", error).filename().string();
  const auto is = [&](const char* role) { return tasks_[process] = role; };
  if (task == "worker-0") return is("chief");
  if (task.starts_with("worker-")) return is("worker");
  if (task.starts_with("ps-")) return is("ps");
  return {};
}

std::optional<std::string> ProtocolPoints::what_of(const WatchedCall& call,
                                                   const std::string& role) {
  const int file = static_cast<int>(call.argument(0));
  switch (call.number()) {
    case SYS_sendmsg: return sent(call, role);
    case SYS_recvmsg: return received(call, role);
    case SYS_sendto: return "sends HTTP";
    case SYS_write:
    case SYS_pwrite64: {
      const std::string path = call.path(file);
      if (!path.starts_with('/')) return {};  // a pipe, an eventfd
      return "writes " + file_name(path);
    }
    case SYS_fsync:
    case SYS_fdatasync: return "makes durable " + file_name(call.path(file));
    case SYS_ftruncate: return "sizes " + file_name(call.path(file));
    case SYS_rename: return "renames to " + file_name(call.text(call.argument(1)));
    case SYS_openat: return "creates " + file_name(call.text(call.argument(1)));
    case SYS_unlink: return "removes " + file_name(call.text(call.argument(0)));
    case SYS_unlinkat: return "removes " + file_name(call.text(call.argument(1)));
    case SYS_mkdir: return "makes folder " + file_name(call.text(call.argument(0)));
    case SYS_connect: return "connects";
    case SYS_accept4: return "accepts";
    case SYS_exit_group: return "ends";
    default: return {};
  }
}

// A frame leaves by one call, and by more of them where the socket does not take it all.
std::optional<std::string> ProtocolPoints::sent(const WatchedCall& call, const std::string& role) {
  const std::string bytes = sent_bytes(call, kLook);
  std::string& newest = newest_frame(call);
  if (const auto name = frame_name(bytes)) {
    newest = *name;
    return "sends " + newest;
  }
  if (!newest.empty()) return "sends more of " + newest;
  return "sends " + call_of(role, bytes) + (role == "ps" ? " answer" : "");
}

// What is left of a payload comes together with the header behind it (FrameStream::receive).
std::optional<std::string> ProtocolPoints::received(const WatchedCall& call,
                                                    const std::string& role) {
  const Descriptor socket = call.file(static_cast<int>(call.argument(0)));
  std::string& newest = newest_frame(call);
  const std::vector<iovec> places = places_of(call);
  const bool is_in_payload = !newest.empty() && places.size() == 2;
  const std::size_t payload = is_in_payload ? places.front().iov_len : 0;
  std::string bytes(payload + kLook, '\0');
  const ssize_t count = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0) return {};
  if (count == 0) return "receives an end";
  bytes.resize(static_cast<std::size_t>(count));
  const auto name = frame_name(std::string_view(bytes).substr(std::min(payload, bytes.size())));
  if (is_in_payload) return "receives more of " + std::exchange(newest, name.value_or(newest));
  if (name) return "receives " + (newest = *name);
  if (!newest.empty()) return "receives a part of a header";
  return "receives " + call_of(role, bytes);
}

// By the kernel's own number of a socket.
std::string& ProtocolPoints::newest_frame(const WatchedCall& call) {
  const std::string socket = call.path(static_cast<int>(call.argument(0)));
  return frames_[(call.number() == SYS_sendmsg ? "to " : "from ") + socket];
}

}  // namespace trainyard::e2e
