// The history of a run's program tables: what each process set, what others read of it, who came to which round of a barrier
// and who passed. Knows the public contract alone.
//
// The invariant to remember: a value names the process that set it, its table and its number among those that it set; so
// whatever is read says by itself whose it is, whether it is whole, and whether it is older than what was read before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "../report.hpp"
#include "plan.hpp"

namespace spindrift::sim {

class TableChecks {
 public:
  TableChecks(const Plan& plan, Report& report) : plan_(plan), report_(report) {}

  /// A view begins there, of these processes.
  void on_view(std::uint32_t process, ViewId id, std::vector<std::uint32_t> members);
  [[nodiscard]] const std::vector<std::uint32_t>& view_of(std::uint32_t process) { return views_[process]; }

  /// That process has the table from now on.
  void on_made(std::uint32_t process, std::uint32_t table) { made_.insert({process, table}); }
  /// The next value of that process's row, which it sets now.
  [[nodiscard]] std::vector<std::uint64_t> set_next(std::uint32_t process, std::uint32_t table);
  /// The value that one reads in another's row; none: it sees no value there.
  void on_read(std::uint32_t reader, std::uint32_t owner, std::uint32_t table,
               std::optional<std::span<const std::uint64_t>> value);
  void on_come(std::uint32_t process, std::uint32_t table, std::uint64_t round);
  /// After it has read all rows.
  void on_pass(std::uint32_t process, std::uint32_t table, std::uint64_t round);
  /// A member was taken for one that writes what no correct member does.
  void on_fault(std::uint32_t process, const std::string& what);

  /// The last round to which somebody of these has come.
  [[nodiscard]] std::uint64_t last_round(std::uint32_t table, const std::vector<std::uint32_t>& core);
  /// Some process's last value that another one does not see; nothing: none.
  [[nodiscard]] std::optional<std::string> unseen(const std::vector<std::uint32_t>& core);

  /// This process's rows may not be seen any more by who has not seen them yet.
  void on_end(std::uint32_t process) { ended_.insert(process); }

 private:
  using Row = std::pair<std::uint32_t, std::uint32_t>;  ///< of that process in that table
  struct Owner {
    std::uint64_t values = 0;                      ///< that it has set
    std::map<std::uint64_t, std::uint64_t> came;   ///< to a round, after so many values
    std::vector<std::uint32_t> members_then;       ///< of its view when it came to the last one
    std::uint64_t passed = 0;                      ///< the last round
    std::map<ViewId, std::uint64_t> passed_by;     ///< that when a view began there
  };

  [[nodiscard]] std::vector<std::uint64_t> value_of(std::uint32_t process, std::uint32_t table, std::uint64_t number) const;
  void check_first_round(std::uint32_t process, std::uint32_t table, std::uint64_t round);
  [[nodiscard]] bool may_leave_out(std::uint32_t process, std::uint32_t other, std::uint32_t table, std::uint64_t round);
  [[nodiscard]] static std::string name_of(std::uint32_t reader, std::uint32_t owner, std::uint32_t table);

  const Plan& plan_;
  Report& report_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> views_;
  std::map<std::uint32_t, ViewId> first_views_;
  std::set<std::uint32_t> ended_;
  std::map<Row, Owner> owners_;
  std::set<Row> made_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> seen_;  ///< reader, owner, table: number
  std::set<std::pair<std::uint32_t, std::uint64_t>> passed_;  ///< table and round, by anybody
};

}  // namespace spindrift::sim
