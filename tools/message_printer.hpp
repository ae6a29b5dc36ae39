// The lines of `spindrift tail`: messages and gaps on standard output, for people or as JSON.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/group/observer.hpp>

namespace spindrift::tools {

/// Writes as far as standard output takes it. Not thread-safe.
class MessagePrinter {
 public:
  /// After `most` messages it has printed all that it is for.
  MessagePrinter(bool json, std::optional<std::uint64_t> most) : json_(json), most_(most) {}

  /// The subgroup has a log, or a history: JSON says each message's version there. Before the first message.
  void show_log_versions() noexcept { log_versions_ = true; }
  void print(const Delivery& delivery);
  void print(const Gap& gap);
  void flush();
  /// Ends the printing if nobody reads it any more: no message may come that would tell.
  void look_at_reader();

  /// There is no use in more.
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// The errno of what standard output did not take; 0: it took everything.
  [[nodiscard]] int refused() const noexcept { return refused_; }
  [[nodiscard]] bool complete() const noexcept { return !most_ || printed_ >= *most_; }

 private:
  void stop(int refused);

  const bool json_;
  const std::optional<std::uint64_t> most_;
  bool log_versions_ = false;
  std::uint64_t printed_ = 0;
  bool done_ = false;
  int refused_ = 0;
};

}  // namespace spindrift::tools
