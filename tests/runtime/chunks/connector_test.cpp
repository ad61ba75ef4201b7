// Which of two ways a worker takes to a ps that only begins.
#include "runtime/net/chunks/connector.h"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/local_socket.h"
#include "tests/support/loopback.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

// A port of this host whose callers wait: its queue, of one caller, is full.
class BusyPort {
 public:
  BusyPort() : socket_(bind_to_loopback()) {
    REQUIRE(::listen(socket_.get(), 0) == 0);
    first_ = StreamSocket::connect_tcp("127.0.0.1:0", port(), in_patience(), std::stop_token());
    REQUIRE(first_.has_value());
  }
  [[nodiscard]] int port() const { return port_of_socket(socket_); }
  void let_one_in() { taken_ = Descriptor(::accept(socket_.get(), nullptr, nullptr)); }

  // In the system's own list: a row says to whom a socket is connected, and "02" that it waits.
  [[nodiscard]] bool is_called() const {
    char wanted[32] = {};
    std::snprintf(wanted, sizeof wanted, " 0100007F:%04X 02 ", static_cast<unsigned>(port()));
    std::ifstream sockets("/proc/net/tcp");
    for (std::string row; std::getline(sockets, row);) {
      if (row.find(wanted) != std::string::npos) return true;
    }
    return false;
  }

 private:
  Descriptor socket_;
  Descriptor taken_;
  Result<StreamSocket> first_ = unavailable("not yet");
};

}  // namespace

TEST_CASE("a Unix socket that comes while its port is called is the way that is taken") {
  BusyPort port;
  const std::string name = new_local_socket_name();
  Connector connector({{.local = name, .address = "127.0.0.1:" + std::to_string(port.port())}},
                      [] {});
  REQUIRE(eventually([&] { return port.is_called(); }));
  const auto local = StreamSocket::listen_unix(name);
  REQUIRE(local.has_value());
  port.let_one_in();
  std::vector<std::pair<std::size_t, StreamSocket>> connected;
  REQUIRE(eventually([&] {
    connected = connector.take();
    return !connected.empty();
  }));
  CHECK(connected.front().second.is_unix());
}

TEST_CASE("one that takes connections and closes them is not called without a rest") {
  const Descriptor socket = listen_on_loopback();
  const std::string address = "127.0.0.1:" + std::to_string(port_of_socket(socket));
  constexpr int calls_wanted = 5;
  const auto start = StreamSocket::Clock::now();
  Awaited<bool> is_over;
  int calls = 0;
  Connector* connector = nullptr;
  std::mutex mutex;
  Connector made({{.local = "", .address = address}}, [&] {
    const std::lock_guard lock(mutex);
    if (++calls == calls_wanted) is_over.set(true);
    if (connector != nullptr && calls < calls_wanted) connector->want(0);
  });
  {
    const std::lock_guard lock(mutex);
    connector = &made;
    if (calls > 0) made.want(0);
  }
  REQUIRE(is_over.wait());
  // Four rests of 50 ms at least, however slow the machine is.
  CHECK(StreamSocket::Clock::now() - start >= std::chrono::milliseconds(200));
}

}  // namespace trainyard::runtime
