// The logs of a run as they must be: of each logged subgroup there is one, which begins alike at all nodes, and applications
// are given all of it. Knows what is appended, delivered and told; no protocol object.
//
// The invariant to remember: what was ever reported durable is in the one log for good, though a node may have trimmed it,
// and what else a member appended is in it until all have stopped, or a part of the
// log is adopted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "history.hpp"
#include "node_logs.hpp"

namespace spindrift::sim {

class LogBooks {
 public:
  /// The log of that node, as its disk would be found now.
  using LogOf = std::function<const NodeLog&(std::uint32_t node, std::uint32_t subgroup)>;

  LogBooks(const Plan& plan, History& history, Report& report, LogOf log_of)
      : plan_(plan), history_(history), report_(report), log_of_(std::move(log_of)), books_(plan.subgroups.size()) {}

  /// The process's log has one more entry, of that version.
  void on_append(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version, const LogEntry& entry);
  /// Behind the history. `loading`: by subgroup, whether the rest of its log is still to come.
  void on_view(std::uint32_t process, const View& view, const std::vector<bool>& loading);
  /// The process begins, with the logs as its node's disk has them.
  void on_open(std::uint32_t process);
  /// It has all of the log.
  void on_loaded(std::uint32_t process, std::uint32_t subgroup);
  /// Its application is given the state of the log's checkpoint, in place of what the log lacks.
  void on_state(std::uint32_t process, std::uint32_t subgroup);
  /// Its application is given that entry.
  void on_given(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version, std::span<const std::byte> payload);
  /// Its application is told that lower versions are durable everywhere.
  void on_durable(std::uint32_t process, std::uint32_t subgroup, std::uint64_t version);
  /// In that view, in which nobody has the log, its leader was told to go on with that node's: what follows in the logs of
  /// the holders may be lost with the next view.
  void on_adopted(std::uint32_t subgroup, ViewId view, std::uint32_t node);
  /// The process has left in order. `loading`: as above.
  void check_left(std::uint32_t process, const std::vector<bool>& loading);

  /// Its application was given what is before that version; but for an object, also what its log lacked when it was to be
  /// given that counts.
  [[nodiscard]] std::uint64_t given(std::uint32_t process, std::uint32_t subgroup);
  struct Incomplete {
    const char* invariant;
    std::string what;
  };
  /// The first that these processes, which are in the same view for good, still owe each other.
  [[nodiscard]] std::optional<Incomplete> incomplete(const std::vector<std::uint32_t>& core);

 private:
  struct Adoption {
    ViewId view;
    std::uint64_t durable = 0;  ///< of the log that is adopted
  };
  struct Book {
    LogEntries log{};                   ///< null where nobody has the message any more
    views::LogPoint begin{};            ///< where it is not
    std::uint64_t reported = 0;
    std::optional<ViewId> first{};     ///< the latest first view, or one in which a log that was away was taken up
    std::vector<std::uint32_t> have{};  ///< processes that began that, and have as much of it as any that did
    std::uint64_t began_with = 0;
    bool dropped = false;               ///< some of its end was once: a node that missed that may have it still
    std::optional<Adoption> adopted{};  ///< the latest
    std::unordered_map<std::uint32_t, std::uint64_t> next{};     ///< by stream
    std::unordered_map<std::uint32_t, std::uint64_t> skipped{};  ///< likewise: given up, between those that are there
  };
  /// One process's application.
  struct Reader {
    std::uint64_t given = 0;
    std::uint64_t told = 0;
  };

  [[nodiscard]] Reader& reader(std::uint32_t process, std::uint32_t subgroup) {
    return readers_[std::uint64_t{process} << 32U | subgroup];
  }
  void violate(const char* invariant, std::uint32_t process, std::uint32_t subgroup, const std::string& what) const;
  [[nodiscard]] bool is_past(std::uint32_t process, const Book& book) const;
  void extend(std::uint32_t process, std::uint32_t subgroup, const LogEntry& entry);
  void begin(std::uint32_t process, std::uint32_t subgroup, const View& view);
  void check_longest(std::uint32_t process, std::uint32_t subgroup, const View& first);
  void give_up_behind_holders(std::uint32_t subgroup, const View& first);
  void give_up(Book& book, const View& view, std::uint64_t same) const;
  static void extend_anew(Book& book, const std::shared_ptr<const LogEntry>& entry, const Digest& before);
  void check_beginning(std::uint32_t process, std::uint32_t subgroup);
  void check_checkpoint(std::uint32_t process, std::uint32_t subgroup, bool whole);
  void note_founders(std::uint32_t subgroup, const View& view);
  void note_holders(std::uint32_t subgroup, const View& view);
  /// That holder has nothing any more of what it had on its disk.
  [[nodiscard]] bool has_lost(const LogHolder& holder, std::uint32_t subgroup) const;
  [[nodiscard]] bool is_without_holder(std::uint32_t subgroup, const View& first) const;
  [[nodiscard]] std::optional<std::uint32_t> holder_in(const std::vector<std::uint32_t>& core, std::uint32_t subgroup,
                                                       const SubgroupView& view) const;
  [[nodiscard]] bool is_taken_up(std::uint32_t subgroup, const View& view) const;
  [[nodiscard]] std::uint64_t owed(const Stream& stream);
  [[nodiscard]] std::optional<Incomplete> incomplete(const std::vector<std::uint32_t>& core, std::uint32_t subgroup,
                                                     const SubgroupView& view);

  const Plan& plan_;
  History& history_;
  Report& report_;
  LogOf log_of_;
  std::uint32_t generation_ = 0;
  std::vector<Book> books_;  // by subgroup
  std::unordered_map<std::uint64_t, Reader> readers_;
};

}  // namespace spindrift::sim
