// One topic in one direction, on a thread of its own: so a topic that is held up holds up no other.
//
// Both queues are bounded. A RELIABLE mirror takes no more from the one side than it can write to the other, so the writers
// there wait; a BEST_EFFORT one drops, and counts.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <spindrift/dds/dynamic_participant.hpp>

#include "bridge/cyclone_side.hpp"

namespace spindrift::tools::bridge {

struct MirrorCounts {
  std::uint64_t samples = 0;
  std::uint64_t news = 0;     ///< that instances were disposed of, or have no writer
  std::uint64_t dropped = 0;  ///< not written, or lost on the way into the mirror
  void add(const MirrorCounts& other);
};

/// The thread of a mirror, with its counts.
class MirrorThread {
 public:
  /// `pass` passes on some of what is there, on the thread, and says whether there may be more. What it throws ends the
  /// mirror.
  MirrorThread(std::string topic, std::function<bool()> pass) : topic_(std::move(topic)), pass_(std::move(pass)) {}
  ~MirrorThread() { end(); }
  MirrorThread(const MirrorThread&) = delete;
  MirrorThread& operator=(const MirrorThread&) = delete;

  /// Once. Throws resource.
  void begin();
  /// Returns when what was there is passed on, or one side takes nothing.
  void end();
  [[nodiscard]] MirrorCounts counts() const;
  /// Why it has ended by itself; nothing: it has not.
  [[nodiscard]] std::optional<Error> failure() const;

  // The pass's:
  [[nodiscard]] bool ending() const noexcept { return ending_; }
  [[nodiscard]] const std::string& topic() const noexcept { return topic_; }
  void count_sample() { ++samples_; }
  void count_news() { ++news_; }
  /// Says the reason, of the first one.
  void drop(const std::string& reason);
  /// Calls until it is true. Says whom it waits for when that takes long. False: this ends.
  template <class Try>
  bool until_taken(const char* whom, const Try& attempt);

 private:
  void run();
  void say_held_up(const char* whom) const;

  const std::string topic_;
  const std::function<bool()> pass_;
  std::atomic<bool> ending_{false};
  bool gave_up_ = false;  // it ends, and one side takes nothing
  std::atomic<std::uint64_t> samples_{0}, news_{0}, dropped_{0};
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
  std::thread thread_;
};

/// Spindrift's samples, to Cyclone DDS.
class ToCyclone {
 public:
  /// `own_history`: begin with what is kept for late joiners, also of what this participant wrote. Throws as
  /// DynamicParticipant, and resource.
  ToCyclone(topics::DynamicParticipant& participant, const CycloneSide& side, std::shared_ptr<const CycloneTopic> cyclone,
            const topics::AnnouncedTopic& topic, const topics::EndpointQos& qos, bool own_history);

  [[nodiscard]] MirrorCounts counts() const;
  [[nodiscard]] std::optional<Error> failure() const { return mirror_.failure(); }
  void end() { mirror_.end(); }

 private:
  bool pass();
  void pass(const topics::DynamicRead& read);
  void write(OpaqueKind kind, const std::shared_ptr<const topics::DynamicSample>& sample, std::int64_t source_timestamp);
  void note_instance(const topics::DynamicRead& read);

  const std::shared_ptr<const CycloneTopic> cyclone_;
  const topics::EndpointId own_;
  const bool keeps_;  // for late joiners
  CycloneEntity writer_;
  topics::DynamicReader reader_;
  bool own_history_;  // what is taken first, whoever wrote it
  std::map<std::array<std::uint64_t, 2>, std::shared_ptr<const topics::DynamicSample>> instances_;  // samples of their keys
  MirrorThread mirror_;  // the last one: it ends first
};

/// Cyclone DDS's samples, to Spindrift.
class FromCyclone {
 public:
  /// Throws as DynamicParticipant, and resource.
  FromCyclone(topics::DynamicParticipant& participant, const CycloneSide& side, std::shared_ptr<const CycloneTopic> cyclone,
              const topics::AnnouncedTopic& topic, const topics::EndpointQos& qos);

  [[nodiscard]] MirrorCounts counts() const;
  [[nodiscard]] std::optional<Error> failure() const { return mirror_.failure(); }
  void end() { mirror_.end(); }

 private:
  bool pass();
  void pass(const ddsi_serdata& data, const dds_sample_info_t& about);
  void say_malformed();

  const std::shared_ptr<const CycloneTopic> cyclone_;
  topics::DynamicWriter writer_;
  CycloneEntity reader_;
  std::uint64_t malformed_said_;
  std::chrono::steady_clock::time_point say_at_{};
  MirrorThread mirror_;  // the last one: it ends first
};

}  // namespace spindrift::tools::bridge
