// A layout that a program composes in C++ of parts: each a subgroup, or one that is cut into shards, of all members, of
// named ones, or of those that a function of the program's chooses view by view (a subgroup allocator, in Derecho's words).
//
//   spindrift::LayoutParts parts(config);
//   parts.add(spindrift::LayoutPart("news"))
//       .add(spindrift::LayoutPart("store").shards(3).at_least(2))
//       .add(spindrift::LayoutPart("pair").chosen_by([](const std::vector<spindrift::NodeId>& members) {
//         return std::vector(members.begin(), members.begin() + std::min<std::ptrdiff_t>(2, std::ssize(members)));
//       }));
//   options.layout = spindrift::value_or_throw(parts.function());
//
// In place of the configuration's layout; sizes of rings are those of the configuration's profiles. All members compose the
// same parts in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift {

namespace config {
struct Plans;
struct SubgroupPlan;
}  // namespace config

/// One part of a layout. A value: functions change this part and return it. What is wrong with one is said by
/// LayoutParts::function. Not thread-safe.
class LayoutPart {
 public:
  /// Chooses of the members of a view, in rank order, those of this part. Must be pure, and the same at all members. Nodes
  /// that are not in the view count for nothing; those that were in the part before come first in its order in any case.
  using Choice = std::function<std::vector<NodeId>(const std::vector<NodeId>& members)>;

  /// A subgroup of that name, 1 to 64 of A-Z, a-z, 0-9, _, . and -: of all members, who all send, ordered, of the profile
  /// DEFAULT.
  explicit LayoutPart(std::string name) : name_(std::move(name)) {}

  LayoutPart& of(std::vector<NodeId> members);  ///< these nodes, as far as they are there
  LayoutPart& chosen_by(Choice choice);         ///< those that `choice` names, in each view anew
  /// These members alone may send; not with shards, nor where a function chooses.
  LayoutPart& senders(std::vector<NodeId> senders);
  LayoutPart& at_least(std::uint32_t members);  ///< with fewer, the subgroup, or each shard, has none; at least 1
  LayoutPart& at_most(std::uint32_t members);   ///< in each shard; with shards alone
  /// Cuts the members into so many disjoint parts, as "shards" in the configuration does; see Shards. At least 1.
  LayoutPart& shards(std::uint32_t count);
  LayoutPart& unordered();                      ///< delivers on receipt
  LayoutPart& logged();                         ///< each member's journal keeps what it delivers; ordered parts alone
  /// Each member keeps the last messages in memory for newcomers; ordered parts alone. A part whose only bound is age has
  /// history_bytes_usual besides. Of a logged part it bounds the log: see the configuration's "history".
  LayoutPart& history(const HistoryBounds& bounds);
  LayoutPart& profile(std::string name);        ///< sizes as [SUBGROUP/name] of the configuration says

 private:
  friend class LayoutParts;
  void check(std::vector<Error>& problems) const;
  [[nodiscard]] config::SubgroupPlan plan() const;

  std::string name_;
  std::optional<std::vector<NodeId>> members_;
  Choice choice_;
  std::vector<NodeId> senders_;
  std::uint32_t minimum_ = 1;
  std::optional<std::uint32_t> maximum_;
  std::optional<std::uint32_t> shards_;
  DeliveryMode mode_ = DeliveryMode::ordered;
  SubgroupStorage storage_ = SubgroupStorage::memory;
  HistoryBounds history_{};
  std::string profile_ = "DEFAULT";
};

/// The parts of one layout. Not thread-safe; the function that it gives is, and outlives it.
class LayoutParts {
 public:
  /// Takes the group's nodes and profiles from `config`.
  explicit LayoutParts(const Config& config);
  ~LayoutParts();
  LayoutParts(const LayoutParts&) = default;             ///< with all its parts
  LayoutParts& operator=(const LayoutParts&) = default;  ///< with all its parts

  /// The next subgroup, or the next shards.
  LayoutParts& add(LayoutPart part);
  /// For GroupOptions::layout. Errors: bad_config, the first problem and how many there are: no part; a name that is none,
  /// or is taken; a node that is not in the group; senders that are no members; a profile that the configuration does not
  /// have; fewer members than one needs, also when all nodes are there; at_most below at_least, or without shards; one
  /// that is logged, and unordered, one of too many, or of a configuration without [PERS] file_path or named founders; one
  /// that keeps a history and is unordered, or whose largest message has no room there.
  [[nodiscard]] Result<LayoutFunction> function() const;

 private:
  struct Choices;
  [[nodiscard]] std::vector<Error> problems(const Choices& choices) const;

  std::string name_;  // of the configuration
  std::vector<NodeId> members_;
  std::shared_ptr<const config::Plans> plans_;
  std::vector<LayoutPart> parts_;
};

}  // namespace spindrift
