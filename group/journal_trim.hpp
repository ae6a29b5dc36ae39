// How much of the beginning of a node's journal may go: not the last record of views, whose loss would be that of all, and
// nothing while somebody reads.
//
// The poller's, but for holds, which others let go of.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/store/entry.hpp>

namespace spindrift::group {

class JournalTrim {
 public:
  /// Appends an entry, which is to be vouched for, and returns its position.
  using Append = std::function<store::JournalPosition(const store::EntryHead&, std::span<const std::byte>)>;

  /// That record of views is, or is going to be, at that position; it is the last one.
  void note_view(const store::EntryHead& head, std::span<const std::byte> payload, store::JournalPosition position);
  /// The position before which all may go now, of what lies before `before`, which nobody else needs; nothing: no more than
  /// before. A record that is in the way is appended once more, and counts when it is durable.
  [[nodiscard]] std::optional<store::JournalPosition> next(store::JournalPosition before, store::JournalPosition durable,
                                                           const Append& append);
  /// All before it may go.
  [[nodiscard]] store::JournalPosition trimmed() const noexcept { return trimmed_; }
  /// As long as somebody has it, nothing more goes: a reader begins with segments that are there.
  [[nodiscard]] const std::shared_ptr<const void>& hold() const noexcept { return hold_; }

 private:
  struct LastView {
    store::EntryHead head;
    std::vector<std::byte> payload;
    store::JournalPosition position;
    std::optional<store::JournalPosition> again{};  ///< of the same once more, until that is durable
  };

  std::optional<LastView> view_;  // nothing: this process has stored none
  store::JournalPosition trimmed_;
  std::shared_ptr<const void> hold_ = std::make_shared<const int>(0);
};

}  // namespace spindrift::group
