// The wait of a command until enough members are in a subgroup, and its words about it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include <spindrift/core/view.hpp>
#include <spindrift/group/group.hpp>

#include "session.hpp"

namespace spindrift::tools {

/// The members of the subgroup in the present view, for one thread that waits until there are enough.
class MembersAwaited {
 public:
  enum class Words { spoken, quiet };

  MembersAwaited(std::string subgroup, std::uint64_t needed, Words words)
      : subgroup_(std::move(subgroup)), needed_(needed), words_(words) {}

  /// Any thread.
  void on_view(const NewView& news);
  /// Says on standard error how many are there, as a command does that waits for its group: at once on a terminal, after a
  /// moment elsewhere, and then with every change. False: the member is to end, or has.
  [[nodiscard]] bool wait(Session& session);
  /// "of the 3 members of subgroup orders 1 is there".
  [[nodiscard]] std::string lacking() const;

 private:
  [[nodiscard]] std::uint64_t there() const;
  void wake_with(Session* session);

  const std::string subgroup_;
  const std::uint64_t needed_;
  const Words words_;
  mutable std::mutex mutex_;
  std::uint64_t there_ = 0;     // behind the mutex
  Session* waiting_ = nullptr;  // behind the mutex
};

}  // namespace spindrift::tools
