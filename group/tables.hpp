// The program's tables of one group, between the application's threads and the shared state table.
//
// The invariant to remember: a table has its place in the own row from the moment in which it is made, and all tables that
// were made before it are written before it. The rest is each table's own affair (table_core.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/channel.hpp>
#include <spindrift/group/table_core.hpp>
#include <spindrift/sst/program_tables.hpp>

namespace spindrift::group {

class Tables final : public TableChannel {
 public:
  explicit Tables(Environment& environment) : environment_(environment) {}

  /// This node, and how much room each row has; once, before the rest.
  void begin(NodeId self, std::uint64_t table_bytes);

  /// The table of that name, made if there is none. Any thread; on one that runs no handler it waits until the rows were
  /// looked at. Throws bad_argument (an empty name, another form than before, a monotone table of what is not numbers of 64
  /// bits), resource (no room in rows), group_closed, and what ended this member otherwise.
  TableCore& attach(std::string_view name, const TableForm& form);

  // The poller.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// A view begins; `own` is its table, in which nothing of the program's is written yet.
  void on_view(const View& view, sst::Table& own);
  /// Before a pass that pushes: writes own rows that have changed. False: nothing was to be done.
  bool write(sst::Table& own);
  /// A member that wrote what no correct one does.
  struct Fault {
    NodeId node;
    std::string what;
  };
  struct Look {
    bool any = false;  ///< something was new
    std::vector<Fault> faults;
    std::vector<const std::function<void()>*> handlers;  ///< that are to be called
  };
  /// Behind a pass: takes what others have written. `begun`: all members of the view are ready in it, and had written their
  /// tables before.
  [[nodiscard]] Look read(const sst::Table& table, bool begun);
  void on_end(const Error& why);

 private:
  struct Attached {
    sst::ProgramTableHead head;
    std::unique_ptr<TableCore> core;
  };

  void check_open() const override { environment_.state.check_open(); }
  void refuse_handlers(const std::string& what) const override;
  void call_poller() noexcept override;

  TableCore& find_or_make(std::string_view name, const TableForm& form);
  [[nodiscard]] std::vector<Attached*> all() const;
  void begin_reading(const sst::Table& table);
  void write_changed(sst::Table& own);
  [[nodiscard]] bool take(NodeId node, const sst::ProgramTableHead& head, std::span<const std::uint64_t> content);

  Environment& environment_;
  NodeId self_;
  std::atomic<bool> any_{false};
  std::atomic<bool> work_{false};       // own rows may have changed, or a table was made
  std::atomic<bool> made_{false};       // a table was made for which the rows were not looked through yet
  mutable std::mutex mutex_;
  // Behind the mutex; the list only grows.
  std::vector<std::unique_ptr<Attached>> tables_;
  std::optional<sst::ProgramTablePlaces> places_;
  View view_;
  std::optional<Error> ended_;
  // The poller's:
  std::vector<sst::ProgramTableReader> readers_;  // of the present view's rows, by rank
  bool look_due_ = false;                         // rows may have changed since tables were told so
  bool all_seen_ = false;                         // since readers began, every row in a view that has begun
  std::set<std::pair<NodeId, std::string>> told_;  // tables of other forms that were told of
};

}  // namespace spindrift::group
