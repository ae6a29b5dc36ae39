// The sequences are those of ECMA-48 and of xterm's other screen, which every terminal of these days has.
#include "terminal_screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "output.hpp"

namespace spindrift::tools {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave = "\x1b[?25h\x1b[?1049l";

extern "C" void on_resize(int) {}  // the wait has been interrupted

void set_blocked(int how) {
  sigset_t resize;
  ::sigemptyset(&resize);
  ::sigaddset(&resize, SIGWINCH);
  ::pthread_sigmask(how, &resize, nullptr);
}

void write_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

bool TerminalScreen::possible() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

TerminalSize TerminalScreen::size() noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

TerminalScreen::TerminalScreen() {
  termios now{};
  if (::tcgetattr(STDIN_FILENO, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    now.c_cc[VSUSP] = _POSIX_VDISABLE;
    now.c_cc[VQUIT] = _POSIX_VDISABLE;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  set_blocked(SIG_BLOCK);
  std::signal(SIGWINCH, on_resize);
  write_out(enter);
}

TerminalScreen::~TerminalScreen() {
  write_out(leave);
  std::fflush(stdout);
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  std::signal(SIGWINCH, SIG_DFL);
  set_blocked(SIG_UNBLOCK);
}

int TerminalScreen::wait(std::span<pollfd> sources, Duration limit) noexcept {
  const auto left = std::max(limit, Duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = static_cast<long>((left - seconds).count())};
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  ::sigdelset(&mask, SIGWINCH);
  return ::ppoll(sources.data(), sources.size(), &time, &mask);
}

void TerminalScreen::show(const std::string& text) {
  std::string page = "\x1b[H";
  for (const char c : text.substr(0, text.find_last_not_of('\n') + 1)) {  // the last line has no end, which would scroll
    if (c == '\n') page += "\x1b[K\r";
    page += c;
  }
  page += "\x1b[K\x1b[J";
  write_out(page);
  value_or_throw(flush_output());
}

}  // namespace spindrift::tools
