// Stream sockets between workers and a ps: TCP between hosts, abstract Unix sockets on one. They
// never wait: what cannot be moved now is left for later.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// At most so many pieces go into one call.
constexpr std::size_t stream_pieces_max = 64;

// Of "host:port"; 0, at which nobody listens, where there is none.
int port_of(const std::string& address);

class StreamSocket {
 public:
  using Clock = std::chrono::steady_clock;

  // `name` of an abstract socket.
  static Result<StreamSocket> listen_unix(const std::string& name);
  // At the host of `address`, "host:port", but on `port`; 0 is a free one. Conflict: another
  // program holds it.
  static Result<StreamSocket> listen_tcp(const std::string& address, int port = 0);
  // The same, but nobody is heard before start_listening().
  static Result<StreamSocket> bind_tcp(const std::string& address, int port);
  [[nodiscard]] Status start_listening() const;
  static Result<StreamSocket> connect_unix(const std::string& name);
  // To the host of `address`, "host:port", at `port` instead.
  static Result<StreamSocket> connect_tcp(const std::string& address, int port,
                                          Clock::time_point deadline, const std::stop_token& stop);

  // The next caller of a listening socket; nothing when none waits, or one of another user of this
  // host.
  [[nodiscard]] std::optional<StreamSocket> accept() const;
  // Of a listening TCP socket; 0: it has none.
  [[nodiscard]] int port() const;

  // How many bytes were moved, none when there is nothing to do now. `unavailable` when the peer is
  // gone; receive() then has handed out all that came before. At most stream_pieces_max pieces,
  // which have at least one byte.
  // Unix: an open file, `passed`, goes with the first of the bytes.
  [[nodiscard]] Result<std::size_t> send(std::span<const iovec> pieces, int passed = -1) const;
  [[nodiscard]] Result<std::size_t> receive(std::span<const iovec> places) const;
  // Unix: the same, and the file that came with what is received; another one replaces it.
  [[nodiscard]] Result<std::size_t> receive(std::span<const iovec> places,
                                            Descriptor& passed) const;
  // TCP: takes no more than about so many bytes that have not left the host, so that what is sent
  // next need not be chosen long before it leaves.
  void keep_unsent_below(int bytes) const;

  // TCP: who waits for input is woken when so many bytes are there, or the peer is gone. Never more
  // than what is on its way, or nothing wakes them. The kernel may take less.
  void wake_at(int bytes) const;

  [[nodiscard]] bool is_unix() const;
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  explicit StreamSocket(Descriptor socket) : socket_(std::move(socket)) {}
  [[nodiscard]] Result<std::size_t> receive(std::span<const iovec> places, msghdr& message) const;

  Descriptor socket_;
};

}  // namespace trainyard::runtime
