// A terminal that shows one page at a time, and gives keys as they are pressed. When this object ends, it is as it was
// before.
#pragma once

#include <poll.h>
#include <termios.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "top_page.hpp"

namespace spindrift::tools {

class TerminalScreen {
 public:
  /// Takes over the terminal of standard output, and of standard input if that is one. Ctrl-C and SIGTERM are signals as
  /// before; nothing suspends the process, which would leave the screen behind. A changed size interrupts
  /// `wait`, and nothing else.
  TerminalScreen();
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  [[nodiscard]] static bool possible() noexcept;
  /// The terminal's, or the usual one if it does not tell.
  [[nodiscard]] static TerminalSize size() noexcept;
  /// -1: no keys are to be had.
  [[nodiscard]] int keys() const noexcept { return before_ ? 0 : -1; }
  /// poll, which a changed size interrupts, also one that came since the last time.
  [[nodiscard]] static int wait(std::span<pollfd> sources, Duration limit) noexcept;
  /// Replaces the page. Throws resource.
  void show(const std::string& text);

 private:
  std::optional<termios> before_;  ///< of standard input
};

}  // namespace spindrift::tools
