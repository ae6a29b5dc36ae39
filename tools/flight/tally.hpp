// The counts and digests that one member takes while it delivers a replay, view after view, and those that it should have
// found by the file. At every boundary of views all members hold the same: so each knows which sample of a topic is due
// next, and from whom.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/delivery.hpp>

#include "flight/plan.hpp"
#include "flight/typed_flight.hpp"
#include "flight/view_log.hpp"
#include "ulog.hpp"

namespace spindrift::tools {

/// The digest of a sequence of messages, each over the one before: short enough to travel to a newcomer.
class ChainedDigest {
 public:
  ChainedDigest() = default;
  explicit ChainedDigest(const Digest& value) : value_(value) {}
  void add(std::span<const std::byte> message) noexcept;
  [[nodiscard]] const Digest& value() const noexcept { return value_; }

 private:
  Digest value_;
};

/// The outcome at one member.
struct TallyResult {
  std::vector<std::uint64_t> counts;   ///< by topic
  std::vector<Digest> contents;        ///< by topic: over its messages; equal to the file's if nothing was changed or lost
  std::vector<std::uint32_t> senders;  ///< by topic: the node that sent it last
  std::vector<Digest> sequences;       ///< by subgroup: over sequence numbers, senders and messages, in delivery order
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t delivered = 0;  ///< messages that this process delivered itself; the others came with the state
  double seconds = 0;           ///< from the first send to the last delivery
  std::vector<ViewEntry> views;
};

[[nodiscard]] std::string to_json(const TallyResult& result);
/// Nothing if the text is no result for that many topics and subgroups.
[[nodiscard]] std::optional<TallyResult> result_from_json(std::string_view text, std::size_t topics, std::size_t subgroups);

/// The flight that is replayed, and by whom. All of it outlives whoever has it.
struct FlightParts {
  const ulog::Recording& recording;
  const TypedFlight& flight;
  const FlightPlan& plan;
  const View& view;  ///< of the nodes that replay it
};

/// Takes views and deliveries on one thread.
class FlightTally {
 public:
  /// A sender was found for this topic, and its next sample is the one of this number. Called for every topic once at the
  /// start, and again when its sender is gone.
  using OnAssigned = std::function<void(std::size_t topic, const Sender& sender, std::uint64_t number)>;

  explicit FlightTally(const FlightParts& parts, OnAssigned on_assigned = {});

  /// Between the last delivery of the view before and the first of this one. A process that has missed earlier views counts
  /// a subgroup's deliveries only after `load`.
  void begin_view(const View& view);
  /// Counts and digests a sample that one of the flight's nodes has written. What breaks the replay's rules (of no topic of
  /// the recording, from the wrong member, not the one that is due by the file) is kept as the fault.
  void add(SubgroupId subgroup, const Delivery& delivery, std::optional<std::size_t> topic,
           std::span<const std::byte> sample);

  /// The subgroup's part of the tally, for a newcomer.
  void save(SubgroupId subgroup, std::ostream& to) const;
  /// Replaces that part. Throws Exception (bad_input) if the text is no such part for this recording.
  void load(SubgroupId subgroup, std::istream& from);
  /// The same of all subgroups: a JSON array of their parts.
  [[nodiscard]] std::string save_all() const;
  void load_all(std::string_view text);

  /// Everything the file holds was delivered.
  [[nodiscard]] bool complete() const noexcept { return messages() == parts_.recording.samples().size(); }
  [[nodiscard]] std::uint64_t messages() const noexcept;
  [[nodiscard]] const std::optional<std::string>& fault() const noexcept { return fault_; }
  /// Without seconds and views.
  [[nodiscard]] TallyResult result() const;

 private:
  struct TopicPart {
    std::uint64_t count = 0;
    ChainedDigest content;
    Sender sender;
  };
  struct SubgroupPart {
    ChainedDigest sequence;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    bool ready = false;  ///< counts from the first message on, or has been loaded
  };

  [[nodiscard]] bool is_due(std::size_t topic, std::span<const std::byte> sample);
  void assign(SubgroupId subgroup);

  const FlightParts parts_;
  OnAssigned on_assigned_;
  View view_;
  std::vector<TopicPart> topics_;
  std::vector<SubgroupPart> subgroups_;
  std::uint64_t delivered_ = 0;
  std::optional<std::string> fault_;
  std::vector<std::byte> due_;  // by the file; kept for its memory
};

/// By topic: the digest that `contents` must equal.
[[nodiscard]] std::vector<Digest> recorded_contents(const ulog::Recording& recording, const TypedFlight& flight);

}  // namespace spindrift::tools
