// What one member counts and digests while it delivers a replay, and what the file says it should have found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/delivery.hpp>

#include "flight/plan.hpp"
#include "ulog.hpp"

namespace spindrift::tools {

/// The outcome at one member.
struct TallyResult {
  std::vector<std::uint64_t> counts;  ///< by topic
  std::vector<Digest> contents;       ///< by topic: over its messages; equal to the file's if nothing was changed or lost
  std::vector<Digest> sequences;      ///< by subgroup: over sequence numbers, senders and messages, in delivery order
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< from the first send to the last delivery
};

[[nodiscard]] std::string to_json(const TallyResult& result);
/// Nothing if the text is no result for that many topics and subgroups.
[[nodiscard]] std::optional<TallyResult> result_from_json(std::string_view text, std::size_t topics, std::size_t subgroups);

/// Takes deliveries on one thread. `recording` and `plan` outlive it.
class Tally {
 public:
  Tally(const ulog::Recording& recording, const FlightPlan& plan, std::size_t subgroups);

  /// Counts and digests. What breaks the replay's rules (not a sample, from the wrong member, out of its topic's order) is
  /// kept as the fault.
  void add(SubgroupId subgroup, std::span<const Delivery> batch);

  /// Everything the file holds was delivered.
  [[nodiscard]] bool complete() const noexcept { return messages_ == recording_.samples().size(); }
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] const std::optional<std::string>& fault() const noexcept { return fault_; }
  [[nodiscard]] TallyResult result() const;

 private:
  void add(SubgroupId subgroup, const Delivery& delivery);

  const ulog::Recording& recording_;
  const FlightPlan& plan_;
  std::vector<std::uint64_t> counts_;
  std::vector<RunningDigest> contents_;
  std::vector<RunningDigest> sequences_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<std::string> fault_;
};

/// By topic: the digest that `contents` must equal.
[[nodiscard]] std::vector<Digest> recorded_contents(const ulog::Recording& recording);

}  // namespace spindrift::tools
