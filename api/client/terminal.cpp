#include "api/client/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "api/client/rest.h"

namespace trainyard::client {
namespace {

void on_signal(int) { interrupt_calls(); }

void handle_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

bool output_is_terminal() { return isatty(STDOUT_FILENO) == 1; }
bool error_output_is_terminal() { return isatty(STDERR_FILENO) == 1; }

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::size_t output_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::string::npos;
  return size.ws_col;
}

InterruptibleScope::InterruptibleScope() { handle_interrupts(on_signal); }
InterruptibleScope::~InterruptibleScope() { handle_interrupts(SIG_DFL); }

void pause_for(Millis duration) {
  if (calls_interrupted()) return;
  poll(nullptr, 0, static_cast<int>(std::clamp<std::int64_t>(duration.count, 0, 60'000)));
}

}  // namespace trainyard::client
