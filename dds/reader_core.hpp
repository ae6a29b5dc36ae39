// A reader: what it has of its topic's samples, the writers that it matches, and its statuses. All with the monitor held.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <spindrift/dds/sample_cache.hpp>
#include <spindrift/dds/status.hpp>
#include <spindrift/dds/status_bits.hpp>
#include <spindrift/dds/status_board.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {

struct ReaderStatuses {
  dds::core::status::SubscriptionMatchedStatus matched;
  dds::core::status::RequestedIncompatibleQosStatus incompatible;
  dds::core::status::RequestedDeadlineMissedStatus deadline;
  dds::core::status::LivelinessChangedStatus liveliness;
  dds::core::status::SampleLostStatus lost;
  dds::core::status::SampleRejectedStatus rejected;
};

/// A writer's lease as a reader sees it, on the steady clock.
struct Lease {
  std::int64_t length_ns = 0;
  std::int64_t asserted_ns = 0;
  bool alive = true;
};

class ReaderCore {
 public:
  ReaderCore(EndpointFacts facts, const CacheRules& rules, std::shared_ptr<StatusBoard> board)
      : facts_(std::move(facts)), qos_(facts_.qos), board_(std::move(board)), cache_(rules) {}

  /// As it was made.
  [[nodiscard]] const EndpointFacts& facts() const noexcept { return facts_; }
  /// Its qualities changed; writers are to be looked at again.
  void change(const EndpointQos& qos);
  [[nodiscard]] StatusBoard& board() noexcept { return *board_; }
  [[nodiscard]] const std::shared_ptr<StatusBoard>& shared_board() const noexcept { return board_; }
  [[nodiscard]] SampleCache& cache() noexcept { return cache_; }
  [[nodiscard]] ReaderStatuses& statuses() noexcept { return statuses_; }
  [[nodiscard]] const std::map<EndpointId, EndpointFacts>& matched() const noexcept { return matched_; }
  /// The samples that a content filter lets through; empty: all.
  void set_filter(std::function<bool(const void*)> filter) { filter_ = std::move(filter); }

  /// A writer of the topic is there, or has changed.
  void on_writer(const EndpointFacts& writer);
  /// One is gone. `failed`: not by itself.
  void on_writer_gone(const EndpointId& writer, bool failed);
  /// Nothing comes any more, from nobody: the participant has ended.
  void on_closed(const std::string& why);
  /// The reason; empty: something may come.
  [[nodiscard]] const std::string& closed() const noexcept { return closed_; }
  /// It does not match any more, but is there.
  void on_mismatch(const EndpointId& writer);
  [[nodiscard]] bool wants(const EndpointId& writer) const { return matched_.contains(writer); }
  /// All that is left of a writer that is gone was given.
  void on_history_of_gone(const EndpointId& writer);
  /// A sample of a writer that it matches, or of the history, whose writers may be gone. Null: news without a sample. One
  /// that it had before is left out.
  /// `now_ns`: of the clock of the day. `tell` lets those know who wait for samples.
  void on_sample(const SampleEnvelope& header, std::shared_ptr<const void> data, std::int64_t now_ns);
  /// Lets whoever waits know of what came: once for many samples.
  void tell();
  /// A sample of a built-in topic, which has no writer. Null: news without a sample.
  void on_news(const SampleEnvelope& header, std::shared_ptr<const void> data);
  /// Bytes that are no sample of the type.
  void on_malformed();
  /// A writer said that it lives, or wrote.
  void on_alive(const EndpointId& writer);
  /// Looks at the deadlines of instances, at the leases of writers, and at samples that are to go; when to look again.
  [[nodiscard]] std::int64_t check(std::int64_t now_ns);

 private:
  /// The statuses that change by it.
  [[nodiscard]] std::uint32_t note_outcome(SampleCache::Outcome outcome, const SampleEnvelope& header);
  void unmatch(const EndpointId& writer, bool failed);
  [[nodiscard]] std::int64_t check_leases(std::int64_t now_ns);

  const EndpointFacts facts_;
  EndpointQos qos_;
  const std::shared_ptr<StatusBoard> board_;
  SampleCache cache_;
  std::map<EndpointId, std::uint64_t> had_;  // of writers that are there: the last message that came
  ReaderStatuses statuses_;
  std::map<EndpointId, EndpointFacts> matched_;
  std::map<EndpointId, Lease> leases_;                        // of those of the matched that have an end
  std::map<std::array<std::uint64_t, 2>, std::int64_t> due_;  // by instance, where there is a deadline
  std::function<bool(const void*)> filter_;
  std::string closed_;
  std::uint32_t untold_ = 0;  // statuses that changed by samples
};

/// Counts every instance that is past its deadline, and moves that on by the period. Returns the earliest that is left.
[[nodiscard]] std::int64_t count_missed(std::map<std::array<std::uint64_t, 2>, std::int64_t>& due, std::int64_t period_ns,
                                        std::int64_t now_ns, const std::function<void(const Digest&)>& missed);

}  // namespace spindrift::topics
