// A process that is a participant of a domain while it works on topics, or an observer while it reads them: its options, its
// signals, and the topic that it looks for.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <spindrift/dds/domain_observer.hpp>
#include <spindrift/dds/dynamic_participant.hpp>

#include "options.hpp"
#include "session.hpp"

namespace spindrift::tools {

struct TopicOptions : CommandOptions {
  std::uint32_t domain = 0;
  std::string topic;
  std::optional<std::uint64_t> timeout_ms;  ///< for the topic, and for each sample; nothing: no topic is waited for
  std::optional<std::uint64_t> count;
  std::string from;
  std::string as = "auto";  ///< of commands that read: "auto", "participant" or "observer"
  std::vector<std::string> samples;
};

/// The part of a command in the domain.
enum class TopicUse : std::uint8_t {
  takes_part,  ///< is a participant
  looks,       ///< at what the domain has: an observer, as its options say
  reads,       ///< as `looks`, and samples, too
};

class TopicSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// Joins the domain; `below` is told of its group. Throws as DynamicParticipant. A signal before it has joined ends the
  /// process with code 130.
  explicit TopicSession(const TopicOptions& options, topics::DomainWatch below = {});
  /// Observes it where that suffices, and else joins it. Throws as DomainObserver, too; bad_argument: options that
  /// contradict each other.
  TopicSession(const TopicOptions& options, TopicUse use);
  ~TopicSession();
  TopicSession(const TopicSession&) = delete;
  TopicSession& operator=(const TopicSession&) = delete;

  /// The participant of a session that takes part.
  [[nodiscard]] topics::DynamicParticipant& participant() noexcept { return *participant_; }
  [[nodiscard]] std::vector<topics::AnnouncedTopic> topics() const;
  /// How many participants are in the domain beside this process.
  [[nodiscard]] std::size_t others() const;
  [[nodiscard]] topics::DynamicReader read(const topics::AnnouncedTopic& topic, const topics::DynamicReading& how = {});
  /// For poll: readable once a signal has come.
  [[nodiscard]] int signal_descriptor() const noexcept { return signals_.descriptor(); }
  /// A signal asks this command to end.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// The error that ended this participant, or observer; nothing: it goes on.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Throws what ended this participant, or that nobody reads standard output any more.
  void require_going_on() const;
  /// The end of a wait that begins now, by --timeout.
  [[nodiscard]] Clock::time_point patience() const;

  /// The topic of the options; waits for it if --timeout says so. Where a participant waits for its readers, a session that
  /// observes of itself takes part from then on. Nothing: stopped. Throws bad_argument: it is not there, and what is;
  /// timed_out.
  [[nodiscard]] std::optional<topics::AnnouncedTopic> find() { return find(options_.topic); }
  /// The same of another name.
  [[nodiscard]] std::optional<topics::AnnouncedTopic> find(const std::string& name);

 private:
  void begin(topics::DomainWatch below);
  void join(topics::DomainWatch below);
  void watch();
  /// A signal has come: says so if the reader of standard output keeps this command from ending.
  void say_if_held_up() const;
  [[nodiscard]] Error not_there(const std::string& name) const;

  const TopicOptions& options_;
  const TopicUse use_;
  StopSignals signals_;
  FileDescriptor over_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> unread_{false};  // nobody reads standard output any more
  std::optional<topics::DynamicParticipant> participant_;  // or:
  std::optional<topics::DomainObserver> observer_;
  std::thread watcher_;
};

/// The topic's mark at participants that begin to write when readers match, of whom an observer is none.
inline constexpr std::string_view waits_for_readers = "waits for readers";

/// None came within --timeout.
[[nodiscard]] Error no_sample(const TopicOptions& options, const topics::DynamicReader& reader);
/// "3 samples are missing: …", for people.
[[nodiscard]] std::string missing_text(std::uint64_t samples);
/// The words for a reader of which that is so.
inline constexpr const char* more_missing_text =
    "more samples may be missing: this command was too slow, and some writer has said nothing since, "
    "whose next sample would tell how many";

/// "topic readings of domain 0".
[[nodiscard]] std::string place_of(const TopicOptions& options, const std::string& topic);
[[nodiscard]] inline std::string place_of(const TopicOptions& options) { return place_of(options, options.topic); }

// The work of the commands.
int echo_topic(const TopicOptions& options);
int publish_to_topic(const TopicOptions& options);
/// `spindrift topic hz`, `bw` and `delay`, which print different parts of the same figures.
int measure_rate(const TopicOptions& options);
int measure_bandwidth(const TopicOptions& options);
int measure_delay(const TopicOptions& options);
int list_topics(const TopicOptions& options);
int show_topic(const TopicOptions& options);

}  // namespace spindrift::tools
