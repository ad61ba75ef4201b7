// The plain socket client of the tests.
#include "tests/api/http/raw_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <vector>

#include "tests/support/process_state.h"
#include "tests/support/waiting.h"

namespace trainyard::api {

RawClient::RawClient(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &place.sin_addr);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) {
    socket_ = std::move(socket);
  }
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawClient::request(std::string_view method_and_path, std::string_view extra,
                        std::string_view body) {
  std::string text(method_and_path);
  text += " HTTP/1.1\r\nHost: localhost\r\n";
  text += extra;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n";
  text += body;
  return send(text);
}

bool RawClient::receive() {
  pollfd waited{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(deadline).count();
  if (::poll(&waited, 1, static_cast<int>(millis)) <= 0) return false;
  std::array<char, 65536> bytes{};
  const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

RawResponse RawClient::read_to_head() {
  RawResponse response;
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive()) return response;
  }
  std::string_view head = std::string_view(buffer_).substr(0, end + 2);
  response.status = std::stoi(std::string(head.substr(9, 3)));
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    std::string name(line.substr(0, line.find(": ")));
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    response.headers[name] = line.substr(line.find(": ") + 2);
    head.remove_prefix(line.size() + 2);
  }
  buffer_.erase(0, end + 4);
  return response;
}

RawResponse RawClient::read() {
  RawResponse response = read_to_head();
  if (response.status == 100) return read();
  const auto length = response.headers.find("content-length");
  if (length == response.headers.end()) return response;
  const std::size_t bytes = std::stoull(length->second);
  while (buffer_.size() < bytes) {
    if (!receive()) return {};
  }
  response.body = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return response;
}

std::size_t RawClient::drop_bytes(std::size_t bytes) {
  pollfd waited{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(deadline).count();
  if (::poll(&waited, 1, static_cast<int>(millis)) <= 0) return 0;
  std::vector<char> dropped(bytes);
  return static_cast<std::size_t>(
      std::max<ssize_t>(0, ::recv(socket_.get(), dropped.data(), dropped.size(), 0)));
}

std::string RawClient::read_until(std::string_view wanted) {
  while (buffer_.find(wanted) == std::string::npos) {
    if (!receive()) break;
  }
  return buffer_;
}

std::string RawClient::take_until(std::string_view wanted) {
  read_until(wanted);
  const std::size_t at = buffer_.find(wanted);
  if (at == std::string::npos) return "";
  std::string taken = buffer_.substr(0, at + wanted.size());
  buffer_.erase(0, taken.size());
  return taken;
}

bool RawClient::ended() {
  buffer_.clear();
  while (receive()) buffer_.clear();
  pollfd waited{.fd = socket_.get(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&waited, 1, 0) > 0;  // not merely the deadline
}

void RawClient::hang_up(HangUp manner) {
  if (manner == HangUp::with_reset) {
    const linger abort{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
  }
  socket_ = Descriptor();
}

void RawClient::close_sending() { ::shutdown(socket_.get(), SHUT_WR); }

bool descriptors_return_to(long count) {
  return eventually([count] { return open_descriptors() <= count; });
}

long resident_kilobytes() { return status_number(::getpid(), "VmRSS"); }

}  // namespace trainyard::api
