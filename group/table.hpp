// A small table of the program's own: a row for every member of the view, which its owner alone writes and all members see.
// It lies in the shared state table that the protocol itself uses, and travels with what that posts anyway.
//
//   struct Load {
//     std::uint64_t requests = 0;
//     double share = 0;
//   };
//
//   void use(spindrift::Group& group) {
//     auto load = group.table<Load>("load");
//     load.set({.requests = 17, .share = 0.5});  // the own row: here at once, and soon at all others
//     double sum = 0;
//     for (const auto& [node, value] : load.rows()) sum += value.share;
//     if (sum > 1) load.set({.requests = 0, .share = 0});  // this member takes no more
//     load.wait([](const auto& rows) { return rows.size() == 3; });  // until three members have set theirs
//     load.barrier();                                                // until all members have come here
//   }
//
// A table is not an order: a row shows the last value, those between may be passed over, and two readers may see two rows
// change in different orders. What all have to do alike goes through a subgroup.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/table_core.hpp>

namespace spindrift {

/// The row of one member.
template <class T>
struct TableRow {
  NodeId node;  ///< whose it is
  T value;      ///< as it was when it was looked at
};

/// A program's table as this process sees it. Made by Group::table; copies are of the same table, which lives as long as its
/// Group. All functions from any thread.
///
/// `T` is a trivially copyable value, default-constructible, without pointers, views or references, which would mean nothing
/// in another process. The compiler refuses what is a pointer itself, or has a reference in it; into a struct, for pointers
/// and views, C++20 cannot look, so that is up to whoever writes it.
template <class T>
class ProgramTable {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && !std::is_pointer_v<T>,
                "a table's rows are trivially copyable values without pointers, which mean the same in every process");

 public:
  using Rows = std::vector<TableRow<T>>;                          ///< of the members that have set theirs, in rank order
  using Handler = std::function<void(const Rows& rows)>;          ///< takes the rows as they are

  /// Made by Group::table.
  explicit ProgramTable(group::TableCore& core) noexcept : core_(&core) {}

  /// Sets the own row. Waits for nothing: the last value of several wins, and one that is there already costs nothing. The
  /// row stays as it is through changes of the view. Throws bad_argument (a monotone table, and a word is smaller than it
  /// was), group_closed (this member leaves or has left), and what ended it otherwise.
  void set(const T& value) { core_->set(std::as_bytes(std::span(&value, 1))); }

  /// The row of that member: never a mixture of two values. Empty: it has set none yet, has no such table, or is not in the
  /// view. The own one is what was set last.
  [[nodiscard]] std::optional<T> row(NodeId node) const {
    T value;
    if (!core_->read(node, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  /// All rows.
  [[nodiscard]] Rows rows() const {
    Rows rows;
    core_->for_each([&](NodeId node, std::span<const std::byte> bytes) {
      T value;
      std::memcpy(&value, bytes.data(), sizeof value);
      rows.push_back({node, value});
    });
    return rows;
  }

  /// Calls the handler, set once, on the poller thread: soon, if there are rows, and whenever some have changed, once for
  /// all that changed meanwhile; also when a member with a row is gone. It should return soon, may set rows and send as a
  /// delivery handler may; an exception that leaves it ends this member. Throws bad_argument: there is one.
  void watch(Handler handler) {
    core_->watch([*this, handler = std::move(handler)] { handler(rows()); });
  }
  /// Waits until `predicate(const Rows&)` is true, which is asked on this thread at once and whenever rows have changed.
  /// Throws timed_out, which names the members that have set no row, and why; would_block in a handler, as `set` when this
  /// member leaves or ends, and what the predicate throws.
  template <class Predicate>
  void wait(Predicate&& predicate, std::optional<Duration> limit = {}) const {
    core_->wait([&] { return static_cast<bool>(predicate(rows())); }, limit);
  }

  /// Waits until all members of the view have come to this table's barrier as often as this one: each member calls it, on
  /// one thread or several, which count once if they wait together. A member that goes is waited for no more; one that comes
  /// is, and begins with the round in which the others wait. Returns the number of the round, from 1, the same at all
  /// members; then `rows` has what the others had set before they came. Throws timed_out (it names the members that have not
  /// come, and why; this one has, and another call goes on waiting for the same round), would_block in a handler, and as
  /// `set` when this member leaves or ends.
  std::uint64_t barrier(std::optional<Duration> limit = {}) { return core_->barrier(limit); }

 private:
  group::TableCore* core_;
};

template <class T>
ProgramTable<T> Group::table(std::string_view name, TableRows rows) {
  const bool counts = std::has_unique_object_representations_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0;
  return ProgramTable<T>(attach_table(name, {typeid(T).name(), sizeof(T), rows, counts}));
}

}  // namespace spindrift
