#include "tests/api/client/peer.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "schemas/base/check.h"

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

Peer::Peer(std::vector<std::string> answers) : answers_(std::move(answers)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ENSURE(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  ENSURE(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ENSURE(listen(listener_, 16) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

Peer::~Peer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

void Peer::serve() {
  for (const std::string& answer : answers_) {
    const int connection = accept(listener_, nullptr, nullptr);
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
  shutdown(listener_, SHUT_RDWR);
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
