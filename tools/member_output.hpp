// A member prints what one subgroup delivers. Its reader may stop, as a terminal does after Ctrl-S: so the printing has a
// thread of its own, and when that has enough to do the subgroup is paused. That holds up those who send there, and neither
// the view nor other subgroups.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/group/group.hpp>

#include "message_printer.hpp"
#include "session.hpp"

namespace spindrift::tools {

/// The messages with which the printing begins; of a subgroup that has neither log nor history all.
struct OutputStart {
  std::uint64_t version = 0;            ///< in the log or history, from 0
  ViewId view{};                        ///< those of earlier views are not printed
  std::optional<std::uint64_t> last{};  ///< so many of those that come before `release`, the last of them
};

class MemberOutput {
 public:
  /// So many bytes may wait to be printed, and as many that the thread has taken.
  static constexpr std::size_t waiting_bytes_max = std::size_t{256} << 10;

  /// Prints `most` messages of that subgroup at most. Throws resource.
  MemberOutput(std::string subgroup, bool json, std::optional<std::uint64_t> most);
  /// Waits until all is printed; `end` first.
  ~MemberOutput();
  MemberOutput(const MemberOutput&) = delete;
  MemberOutput& operator=(const MemberOutput&) = delete;

  /// Before `take`.
  void begin_with(const OutputStart& start);
  /// The program has all that was there before: what is the last of that is known.
  void release();
  /// The versions of what was delivered, be it printed or not; both 0: nothing was.
  struct Span {
    std::uint64_t begin = 0;  ///< of the first message
    std::uint64_t end = 0;    ///< behind the last one
  };
  [[nodiscard]] Span delivered();
  /// Prints from now on what that subgroup delivers, if it is the one. Any thread, also before the member has joined.
  void take(Subgroup& subgroup);
  /// This session is asked to stop when there is no use in more; at once, if there was none before it was there.
  void on_joined(Session& session);
  /// The member is out of its group: nothing more comes, and neither group nor session is used any more.
  void end();
  /// Whether all that came is printed, or cannot be, within `limit`; none: it waits as long as it takes.
  [[nodiscard]] bool await_printed(std::optional<std::chrono::milliseconds> limit);
  /// Behind `await_printed`, where that said so.
  [[nodiscard]] const MessagePrinter& printer() const noexcept { return printer_; }

 private:
  /// The thread has taken nothing, or what it prints now.
  enum class State : std::uint8_t { waiting, printing };
  /// More is to be printed; would be of no use; does not come, for the member is out of its group.
  enum class Source : std::uint8_t { open, done, ended };
  struct Kept {
    Delivery delivery;  ///< its payload is `bytes`
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] bool ready() const noexcept { return !kept_.empty() && !start_.last; }
  void keep(Subgroup& subgroup, std::span<const Delivery> batch);
  void run();
  void go_on();
  void print(const std::deque<Kept>& taken);

  const std::string name_;
  MessagePrinter printer_;  // the thread's while it prints
  std::mutex mutex_;        // of all that follows
  std::condition_variable changed_;
  std::deque<Kept> kept_;
  OutputStart start_;
  std::size_t kept_bytes_ = 0;
  Span delivered_;
  Subgroup* paused_ = nullptr;
  Session* joined_ = nullptr;
  State state_ = State::waiting;
  Source source_ = Source::open;
  std::thread thread_;
};

}  // namespace spindrift::tools
