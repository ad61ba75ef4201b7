// What a person sees in a terminal: the program runs in a pseudo terminal whose window the test
// resizes.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/client/columns.h"
#include "tests/api/client/peer.h"
#include "tests/support/program_path.h"
#include "tests/support/waiting.h"

namespace trainyard::client {
namespace {

class Window {
 public:
  Window(unsigned short columns, const std::vector<std::string>& arguments) {
    std::string program = program_path("trainyard");
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), program);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = forkpty(&screen_, nullptr, nullptr, &size);
    if (child_ == 0) {
      execv(program.c_str(), pointers.data());
      _exit(127);
    }
    REQUIRE(child_ > 0);
  }
  ~Window() {
    close(screen_);
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void resize(unsigned short columns) const {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(ioctl(screen_, TIOCSWINSZ, &size) == 0);
  }

  // What is written from now on, up to and with `text`.
  std::string read_until(const std::string& text) {
    std::string written;
    const Deadline deadline = in_patience();
    while (written.find(text) == std::string::npos) {
      INFO(written);
      REQUIRE_FALSE(is_past(deadline));
      pollfd ready{.fd = screen_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t got = read(screen_, buffer.data(), buffer.size());
      REQUIRE(got > 0);
      written.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return written;
  }

  int exit_code() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int screen_ = -1;
  pid_t child_ = -1;
};

// The lines that were drawn, redrawn ones too, without what erases.
std::vector<std::string> drawn(std::string text) {
  for (std::size_t at = 0; (at = text.find("\x1b[K")) != std::string::npos;) text.erase(at, 3);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string answer(int version, const std::string& state, const std::string& changes) {
  return http_answer("200 OK", R"({"id":"j1","version":)" + std::to_string(version) +
                                   R"(,"spec":{"name":"a-name-of-more-than-forty-columns-by-far-)" +
                                   R"(so-that-it-cannot-fit"},"status":{"state":")" + state +
                                   R"(","step":920,"max_steps":2000,"progress":0.46,"loss":0.25,)" +
                                   R"("transitions":[)" + changes + "]}}");
}

std::string change(const std::string& to, const std::string& reason, const std::string& message) {
  return R"({"to":")" + to + R"(","reason":")" + reason + R"(","message":")" + message +
         R"(","attempt":1,"time":"2026-11-20T19:00:00.000Z"})";
}

}  // namespace

TEST_CASE("a watch in a terminal keeps its line in the window, and changes stay above it",
          "[client][mend-B5]") {
  const std::string started = change("running", "GANG_RUNNING", "all tasks run");
  const std::string restarts = started + "," + change("queued", "SIGNALLED", "worker/1 was killed");
  Peer peer({answer(1, "running", started), peer_waits, answer(2, "queued", restarts),
             answer(3, "succeeded", restarts)});
  Window window(120, {"--server", peer.url(), "watch", "j1"});

  const std::vector<std::string> wide = drawn(window.read_until("loss 0.25"));
  CHECK_THAT(wide.front(), Catch::EndsWith("running  GANG_RUNNING: all tasks run"));
  CHECK(width_of(wide.back()) > 40);

  window.resize(40);
  const std::string narrow = drawn(window.read_until("\x1b[K")).back();
  CHECK_THAT(narrow, Catch::StartsWith("a-name"));
  CHECK(width_of(narrow) <= 39);

  peer.release();
  const std::string end = window.read_until("succeeded");
  const std::size_t told = end.find("queued  SIGNALLED: worker/1 was killed\r\n");
  REQUIRE(told != std::string::npos);
  CHECK(end.substr(told + 40).find("━") != std::string::npos);  // the line of progress, below it
  CHECK(window.exit_code() == 0);
}

TEST_CASE("a list in a terminal is as wide as the window", "[client][mend-B10]") {
  Peer peer({http_answer("200 OK",
                         R"({"items":[{"id":"j-0123456789","spec":{"name":"a-name-of-more-than-)"
                         R"(forty-columns-by-far-so-that-it-cannot-fit"},"status":{"state":)"
                         R"("running","reason":"GANG_RUNNING","metrics":{"accuracy":0.5}}}]})")});
  Window window(100, {"--server", peer.url(), "list"});

  const std::vector<std::string> lines = drawn(window.read_until("GANG_RUNNING  "));
  REQUIRE(lines.size() >= 2);
  CHECK_THAT(lines[0], Catch::Contains("TEST METRIC"));
  CHECK_THAT(lines[1], Catch::Contains("…"));
  for (const std::string& line : lines) CHECK(width_of(line) <= 100);
}

}  // namespace trainyard::client
