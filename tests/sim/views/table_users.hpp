// The program tables of a run with views: each process makes those of the plan, sets its rows, comes to barriers, and looks
// at the others' rows, by the product's Tables between the application and the rows; what it sees goes to the checks.
//
// The invariant to remember: nobody waits in a thread here. A process comes to a barrier, and asks behind each look whether
// the round is over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/tables.hpp>

#include "../random.hpp"
#include "../scheduler.hpp"
#include "table_checks.hpp"

namespace spindrift::sim {

class TableUsers final : public Handler {
 public:
  using Wake = std::function<void(std::uint32_t process)>;

  TableUsers(Scheduler& scheduler, const Plan& plan, Report& report, Wake wake);
  ~TableUsers();

  /// The process begins.
  void begin(std::uint32_t process, std::uint32_t node);
  void end(std::uint32_t process);
  /// The process's member is in that state now.
  void on_state(std::uint32_t process, views::MemberState state, const std::optional<Error>& failure);
  /// A view begins there, of these processes.
  void on_view(std::uint32_t process, const View& view, std::vector<std::uint32_t> members, sst::Table& own);
  /// Before a step, and behind it. True: something was new.
  bool write(std::uint32_t process, sst::Table& own);
  bool read(std::uint32_t process, const sst::Table& table, bool begun);

  /// From now on nobody thinks for long.
  void hurry() { hurry_ = true; }
  /// These processes, which are in one view and stay there, set no more and come to the barriers once more.
  void finish(const std::vector<std::uint32_t>& core);
  struct Unfinished {
    const char* invariant;
    std::string what;
  };
  /// A value that some of these do not see, or a barrier at which one waits in vain; nothing: none.
  [[nodiscard]] std::optional<Unfinished> unfinished(const std::vector<std::uint32_t>& core);

  void on_event(EventKind kind, std::uint32_t which) override;

  [[nodiscard]] TableChecks& checks() noexcept { return checks_; }

 private:
  struct User;
  /// One process's use of one table.
  struct Use {
    std::uint32_t process = 0;
    std::uint32_t table = 0;
    group::TableCore* core = nullptr;  ///< null: it is not made yet
    bool due = false;                  ///< an event of it is under way
    std::uint32_t sets_left = 0;
    std::uint32_t rounds_left = 0;
    std::uint64_t round = 0;       ///< to which it came last
    bool waits = false;            ///< in that one
    bool blind = false;            ///< it could not come, for rows had not been looked at
    std::uint64_t last_round = 0;  ///< it goes on to this one, in the end
  };

  void make(Use& use);
  void act(Use& use);
  void come(Use& use);
  void look(const Use& use);
  void look_whether_over(std::uint32_t which);
  [[nodiscard]] bool wants(const Use& use) const;
  void schedule(std::uint32_t which, Ticks at_most);

  Scheduler& scheduler_;
  const Plan& plan_;
  Random random_;
  TableChecks checks_;
  Wake wake_;
  std::vector<std::unique_ptr<User>> users_;  // by process
  std::vector<Use> uses_;
  std::vector<std::uint64_t> last_rounds_;  // by table, once it is known
  bool hurry_ = false;
};

}  // namespace spindrift::sim
