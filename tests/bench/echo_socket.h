// The limit of a transport: a plain stream socket and a thread that sends back what it gets.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace trainyard::bench {

class EchoSocket {
 public:
  enum class Kind { tcp, unix_pair };
  EchoSocket(Kind kind, std::size_t bytes);
  ~EchoSocket();
  EchoSocket(const EchoSocket&) = delete;
  EchoSocket& operator=(const EchoSocket&) = delete;

  // Sends `bytes` and reads as many back.
  void exchange();

 private:
  int near_ = -1;
  int far_ = -1;
  std::vector<char> buffer_;
  std::jthread echo_;
};

}  // namespace trainyard::bench
