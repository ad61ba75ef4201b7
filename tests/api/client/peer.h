// The other end of the client's calls: a listening socket that answers each request, in order, with
// bytes written by the test, and closes the connection after each. It keeps the requests as they
// came.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace trainyard::client {

class Peer {
 public:
  explicit Peer(std::vector<std::string> answers);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> requests();  // head and body of each, those answered so far

 private:
  void serve();
  std::vector<std::string> answers_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<std::string> requests_;  // guarded by mutex_
  std::thread thread_;
};

// "HTTP/1.1 <status>", the headers given (each with its line end), Content-Length and the body.
std::string http_answer(const std::string& status, const std::string& body,
                        const std::string& headers = "");

}  // namespace trainyard::client
