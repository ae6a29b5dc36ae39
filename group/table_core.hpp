// One table of the program's, behind ProgramTable (table.hpp), which is what users see: the own row as it was set, the
// others' as they were read last, and who waits for them.
//
// The invariant to remember: the application's threads and the poller meet behind one mutex per table; the poller alone
// reads and writes rows of the shared state table, and no thread waits for it there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift {

namespace group {

/// All that a table is besides its name; other members' are the same table only if it is alike.
struct TableForm {
  std::string type;         ///< as the compiler calls it
  std::size_t bytes = 0;    ///< of a row's value
  TableRows rows = TableRows::latest;
  bool counts = false;      ///< the value is numbers of 64 bits and nothing else
  bool operator==(const TableForm&) const = default;
};

/// The services that a table needs of its group.
class TableChannel {
 public:
  virtual ~TableChannel() = default;
  /// Throws unless this member is in the group and does not leave. Any thread.
  virtual void check_open() const = 0;
  /// Throws would_block on a thread that runs handlers. Any thread.
  virtual void refuse_handlers(const std::string& what) const = 0;
  /// There is something for the poller to do. Any thread.
  virtual void call_poller() noexcept = 0;
};

class TableCore {
 public:
  using Words = std::vector<std::uint64_t>;
  using Deadline = std::chrono::steady_clock::time_point;
  /// The content of a row: these words, then the value.
  enum Word : std::size_t {
    has_value,  ///< 0 or 1
    arrived,    ///< at so many rounds of the barrier, counting those that were over before it came to one
    passed,     ///< so many of them are over
    value,
  };

  /// `channel` outlives this.
  TableCore(std::string name, TableForm form, TableChannel& channel);
  TableCore(const TableCore&) = delete;
  TableCore& operator=(const TableCore&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const TableForm& form() const noexcept { return form_; }
  /// The length of a row's content.
  [[nodiscard]] std::size_t words() const noexcept { return value + (form_.bytes + 7) / 8; }

  // Any thread; as ProgramTable has them.
  void set(std::span<const std::byte> bytes);
  [[nodiscard]] bool read(NodeId node, std::span<std::byte> to) const;
  void for_each(const std::function<void(NodeId, std::span<const std::byte>)>& take) const;
  void watch(std::function<void()> handler);
  void wait(const std::function<bool()>& satisfied, std::optional<Duration> limit) const;
  std::uint64_t barrier(std::optional<Duration> limit);
  /// The part of it that waits for nobody: this member comes to the barrier, if it does not wait there. Returns the round in
  /// which it waits; nothing while rows have not been looked at, for only these say which one that is.
  std::optional<std::uint64_t> come();
  /// All have come to that round, which is one to which this member has come.
  [[nodiscard]] bool is_over(std::uint64_t round) const;
  /// Waits until the poller has looked at the rows of all members of a view; not in handlers.
  void await_look() const;

  // The poller.
  /// The members from now on. A row stays with its incarnation; the own one is to be written again, in new memory.
  void on_view(const View& view, NodeId self);
  /// The own row, if it is to be written: it has changed since the last call.
  [[nodiscard]] std::optional<Words> take_own();
  /// A content that was read in the row of that member. The words are of the right number. False: no correct member writes
  /// it.
  [[nodiscard]] bool on_row(NodeId node, std::span<const std::uint64_t> content);
  /// That member has a table of this name and another form, so that its row is none of this one's.
  void on_other_form(NodeId node);
  /// Rows were looked at; `all`: every member's, with all that it had set when the view began. Returns the handler, if it is
  /// to be called now.
  [[nodiscard]] const std::function<void()>* on_look(bool all);
  void on_end(const Error& why);

 private:
  /// As this process knows it.
  struct Row {
    NodeId node;
    std::uint64_t incarnation = 0;
    std::uint64_t came_in_round = 0;  ///< so far this member had come when that one came into the view, and waited; else 0
    Words content;                    ///< empty: none has been seen
    bool other_form = false;          ///< its table of this name is another one
  };

  // All with the mutex held.
  [[nodiscard]] const Row* row_of(NodeId node) const;
  [[nodiscard]] bool all_have_come() const;
  [[nodiscard]] std::uint64_t rounds_passed() const;
  void settle_barrier();
  void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& over, Deadline until,
                  const std::string& what, std::uint64_t round) const;
  [[nodiscard]] std::string missing(const Row& row, std::uint64_t round) const;
  [[nodiscard]] Error timed_out(const std::string& what, std::uint64_t round) const;

  const std::string name_;
  const TableForm form_;
  TableChannel& channel_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Behind the mutex:
  Words own_;
  std::vector<Row> others_;       // of the view's other members, in rank order
  std::size_t before_self_ = 0;   // so many of these come before this member
  NodeId self_;
  std::uint64_t changes_ = 0;     // of rows
  std::uint64_t told_ = 0;        // of these, so many when the handler was called
  bool unwritten_ = true;         // the own row has changed since it was taken
  bool looked_ = false;
  std::function<void()> handler_;
  std::optional<Error> ended_;
};

}  // namespace group
}  // namespace spindrift
