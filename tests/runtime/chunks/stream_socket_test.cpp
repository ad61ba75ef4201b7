// Sockets that listen: when they are heard, and whose port it is.
#include "runtime/net/stream_socket.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "runtime/net/local_socket.h"
#include "runtime/net/spare_descriptor.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

bool hears(int port) {
  return StreamSocket::connect_tcp("127.0.0.1:0", port, in_patience(), std::stop_token())
      .has_value();
}

}  // namespace

TEST_CASE("who is only bound has a port, and is heard when it listens") {
  const auto socket = StreamSocket::bind_tcp("127.0.0.1:0", 0);
  REQUIRE(socket.has_value());
  REQUIRE(socket->port() > 0);
  CHECK_FALSE(hears(socket->port()));
  REQUIRE(socket->start_listening().has_value());
  CHECK(hears(socket->port()));
}

TEST_CASE("a port that another one listens at is a conflict that names it") {
  const auto holder = StreamSocket::listen_tcp("127.0.0.1:0");
  REQUIRE(holder.has_value());
  const auto second = StreamSocket::listen_tcp("127.0.0.1:0", holder->port());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::conflict);
  CHECK(second.error().message.find(std::to_string(holder->port())) != std::string::npos);
}

TEST_CASE("ports end at 65535") {
  const int port = GENERATE(-1, 65'536, 99'999);
  for (const char* const address : {"127.0.0.1:0", "0.0.0.0:0"}) {
    const auto bound = StreamSocket::bind_tcp(address, port);
    REQUIRE_FALSE(bound.has_value());
    CHECK(bound.error().code == Code::invalid);
    const auto connected =
        StreamSocket::connect_tcp(address, port, in_patience(), std::stop_token());
    REQUIRE_FALSE(connected.has_value());
    CHECK(connected.error().code == Code::invalid);
  }
}

TEST_CASE("of two files that come with one message none is left open") {
  const std::string name = new_local_socket_name();
  const auto listener = StreamSocket::listen_unix(name);
  REQUIRE(listener.has_value());
  const auto there = StreamSocket::connect_unix(name);
  REQUIRE(there.has_value());
  const auto here = listener->accept();
  REQUIRE(here.has_value());
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();

  const std::array<int, 2> files{there->descriptor(), there->descriptor()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> beside{};
  char letter = 'a';
  iovec piece{&letter, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof files);
  std::memcpy(CMSG_DATA(header), files.data(), sizeof files);
  REQUIRE(::sendmsg(there->descriptor(), &message, 0) == 1);

  {
    Descriptor passed;
    REQUIRE(here->receive({&piece, 1}, passed).value() == 1);
    CHECK(passed);
  }
  CHECK(open_files() == before);
}

TEST_CASE("who calls where there is no room for another file is turned away") {
  const auto listener = StreamSocket::listen_tcp("127.0.0.1:0");
  REQUIRE(listener.has_value());
  SpareDescriptor spare;
  const auto caller =
      StreamSocket::connect_tcp("127.0.0.1:0", listener->port(), in_patience(), std::stop_token());
  REQUIRE(caller.has_value());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto accepted = listener->accept();
  const bool is_full = SpareDescriptor::is_needed();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(accepted.has_value());
  CHECK(is_full);
  spare.turn_away(*listener);
  char letter = 0;
  const iovec place{&letter, 1};
  CHECK(eventually([&] { return !caller->receive({&place, 1}).has_value(); }));
}

}  // namespace trainyard::runtime
