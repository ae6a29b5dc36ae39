// Which threads run a group's handlers.
#pragma once

#include <cstdint>

namespace spindrift::group {

/// Knows of the calling thread whether it runs a group's handlers, and so must not wait for that group: the group waits for
/// its return. Outlives the group where something else does that asks.
class HandlerThreads {
 public:
  enum class Kind : std::uint8_t {
    poller,  ///< the group's poller
    own,     ///< one handler's own
    beside,  ///< makes an object a second time, beside the program's: what its methods call was called already
  };

  /// While it lives, its thread is one. Ends on that thread.
  class Entry {
   public:
    Entry(const HandlerThreads& whose, Kind kind) noexcept;
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Something was called that its kind may not.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

   private:
    friend class HandlerThreads;
    const HandlerThreads& whose_;
    mutable bool refused_ = false;
    const Kind kind_;
    const Entry* const before_;
  };

  HandlerThreads() = default;
  HandlerThreads(const HandlerThreads&) = delete;
  HandlerThreads& operator=(const HandlerThreads&) = delete;

  [[nodiscard]] bool is_one() const noexcept;     ///< of any kind
  [[nodiscard]] bool is_poller() const noexcept;
  [[nodiscard]] bool is_beside() const noexcept;
  /// The calling thread, which is one, was refused what it called.
  void note_refusal() const noexcept;
};

}  // namespace spindrift::group
