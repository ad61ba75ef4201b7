#include "tests/api/client/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "schemas/base/check.h"
#include "tests/support/loopback.h"

namespace trainyard::client {
namespace {

std::size_t body_length(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
}

std::string read_request(int connection) {
  std::string request;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t head_end = request.find("\r\n\r\n");
    if (head_end != std::string::npos && request.size() >= head_end + 4 + body_length(request)) {
      return request;
    }
    const ssize_t got = recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) return request;
    request.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Peer::Peer(std::vector<std::string> answers)
    : answers_(std::move(answers)), listener_(listen_on_loopback()) {
  port_ = port_of_socket(listener_);
  thread_ = std::thread([this] { serve(); });
}

Peer::~Peer() {
  shutdown(listener_.get(), SHUT_RDWR);
  release();
  thread_.join();
}

void Peer::serve() {
  for (const std::string& answer : answers_) {
    if (answer == peer_waits) {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [this] { return may_go_on_; });
      continue;
    }
    const int connection = accept(listener_.get(), nullptr, nullptr);
    if (connection < 0) return;
    const std::string request = read_request(connection);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    close(connection);
  }
  // No more answers: a caller is told so at once, as by a server that is not there.
  shutdown(listener_.get(), SHUT_RDWR);
}

void Peer::release() {
  const std::lock_guard lock(mutex_);
  may_go_on_ = true;
  released_.notify_all();
}

std::vector<std::string> Peer::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::string http_answer(const std::string& status, const std::string& body,
                        const std::string& headers) {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace trainyard::client
