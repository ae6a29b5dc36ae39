// Objects in runs with views: what a thread sends counts as the pieces of objects, a few messages each, and every process
// follows them by the product's tracker, which hears of messages and views as in a Group.
//
// The invariant to remember: what is heard of an object is a function of what is delivered. So who was there from its first
// piece on hears the same end as everybody who was, and nobody waits for a sender that is gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <spindrift/views/object_tracker.hpp>

#include "history.hpp"

namespace spindrift::sim {

class Objects {
 public:
  Objects(const Plan& plan, const History& history, Report& report) : plan_(plan), history_(history), report_(report) {}

  /// A message that the process's application takes, and that the history has found good.
  void on_delivery(std::uint32_t process, std::uint32_t subgroup, const Delivery& delivery);
  /// A view begins there, behind what was delivered.
  void on_boundary(std::uint32_t process, std::uint32_t subgroup, const ObjectBoundary& boundary);
  /// An object for which one of these processes, which are in one view and owe each other nothing, still waits; nothing:
  /// none.
  [[nodiscard]] std::optional<std::string> left_open(const std::vector<std::uint32_t>& core) const;

 private:
  /// Subgroup, the sender's process, the number of the object.
  using Name = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
  struct Told {
    ObjectEnd::Why why;
    std::uint64_t bytes;
    std::uint32_t process;  ///< the first that was
  };
  /// One process in one subgroup.
  struct Participant {
    ObjectTracker tracker;
    /// Objects whose first piece came and whose end did not, and the sender's process.
    std::map<std::pair<NodeId, std::uint64_t>, std::uint32_t> begun;
  };

  Participant& participant(std::uint32_t process, std::uint32_t subgroup);
  void note_end(std::uint32_t process, std::uint32_t subgroup, const ObjectEnd& end);
  void violate(std::uint32_t process, const ObjectEnd& end, const std::string& what);
  [[nodiscard]] std::uint64_t number_of(std::uint32_t stream, std::uint64_t counter) const;

  const Plan& plan_;
  const History& history_;
  Report& report_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Participant> participants_;
  std::map<Name, Told> told_;
};

}  // namespace spindrift::sim
