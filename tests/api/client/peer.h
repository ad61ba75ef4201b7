// The other end of the client's calls: a listening socket that answers each request, in order, with
// bytes written by the test, and closes the connection after each. It keeps the requests as they
// came.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/base/descriptor.h"

namespace trainyard::client {

// In place of an answer: the peer does nothing until release() is called.
inline const std::string peer_waits = "wait";

class Peer {
 public:
  explicit Peer(std::vector<std::string> answers);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void release();
  std::vector<std::string> requests();  // head and body of each, those answered so far

 private:
  void serve();
  std::vector<std::string> answers_;
  Descriptor listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable released_;
  bool may_go_on_ = false;             // guarded by mutex_
  std::vector<std::string> requests_;  // guarded by mutex_
  std::thread thread_;
};

// "HTTP/1.1 <status>", the headers given (each with its line end), Content-Length and the body.
std::string http_answer(const std::string& status, const std::string& body,
                        const std::string& headers = "");

}  // namespace trainyard::client
