#include "tests/bench/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "schemas/base/check.h"

namespace trainyard::bench {
namespace {

constexpr std::string_view length_header = "content-length:";

// The value of Content-Length in a head; the server answers nothing in chunks that is asked for
// here.
std::size_t body_length(const std::string& head) {
  for (std::size_t line = 0; line < head.size(); line = head.find("\r\n", line) + 2) {
    std::string name = head.substr(line, length_header.size());
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    if (name == length_header) return std::stoul(head.substr(line + length_header.size()));
  }
  return 0;
}

}  // namespace

HttpClient::HttpClient(const std::string& address) : host_(address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ENSURE(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) == 1);
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ENSURE(socket_ >= 0);
  ENSURE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

HttpClient::~HttpClient() { ::close(socket_); }

HttpClient::Answer HttpClient::get(const std::string& path) {
  return exchange("GET " + path + " HTTP/1.1\r\nHost: " + host_ +
                  "\r\nConnection: keep-alive\r\n\r\n");
}

HttpClient::Answer HttpClient::post(const std::string& path, std::string_view body) {
  return exchange(
      "POST " + path + " HTTP/1.1\r\nHost: " + host_ +
      "\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
}

HttpClient::Answer HttpClient::exchange(const std::string& request) {
  ENSURE(::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(request.size()));
  std::size_t head_end = std::string::npos;
  while ((head_end = received_.find("\r\n\r\n")) == std::string::npos) read_more();
  const std::string head = received_.substr(0, head_end + 2);
  const std::size_t end = head_end + 4 + body_length(head);
  while (received_.size() < end) read_more();
  Answer answer{.status = std::atoi(head.c_str() + std::string_view("HTTP/1.1 ").size()),
                .body = received_.substr(head_end + 4, end - head_end - 4)};
  received_.erase(0, end);
  return answer;
}

void HttpClient::read_more() {
  char buffer[16'384];
  const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
  ENSURE(count > 0);
  received_.append(buffer, static_cast<std::size_t>(count));
}

}  // namespace trainyard::bench
