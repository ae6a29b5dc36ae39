// A participant: a member of its domain's group, which tells the others of its topics, writers and readers, hears of theirs,
// and gives each topic what is delivered of it.
//
// The invariant to remember: the table of endpoints is the same at all participants after the same messages of the subgroup
// `endpoints_subgroup`; a newcomer is given it as of the boundary of two views.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/dds/builtin_readers.hpp>
#include <spindrift/dds/heart.hpp>
#include <spindrift/dds/history_exchange.hpp>
#include <spindrift/dds/ignored.hpp>
#include <spindrift/dds/shown_endpoints.hpp>
#include <spindrift/dds/timer_thread.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::topics {

/// The subgroup in which participants tell each other of topics, writers and readers. A layout in a file names it.
inline constexpr const char* endpoints_subgroup = "dds-endpoints";

/// The name of the group of a domain without a file.
[[nodiscard]] std::string domain_group_name(std::uint32_t domain);
/// The name of the subgroup that is created for a topic: "dds." and its name, or what is left of it and a digest.
[[nodiscard]] std::string topic_subgroup_name(const std::string& topic);

/// The sizes of a topic's subgroup, for samples that always have that size, or 0: that vary; usual messages may suffice.
[[nodiscard]] Profile topic_profile(std::uint64_t sample_bytes, std::uint64_t usual_bytes_max);

/// Returns when all participants have left whose last reference a listener dropped: that goes on beside. The process waits
/// for it at its end, too.
void await_endings();

/// How long a participant that leaves waits for others that take nothing, before it has what is on its way handed over to
/// them.
inline constexpr std::chrono::milliseconds leave_patience{500};

/// An onlooker sees what is in the domain, and sends nothing: nobody hears of it, or asks it for histories.
enum class JoinAs : std::uint8_t { participant, onlooker };

class DomainCore {
 public:
  /// The configuration of a domain's group: that of the file, whose layout names `endpoints_subgroup`, or of one that needs
  /// none, where the name is empty. Throws bad_config.
  [[nodiscard]] static Config config(std::uint32_t domain, const std::string& file,
                                     const std::vector<ConfigOverride>& overrides = {});
  /// Joins the domain's group, or founds it; returns when it knows all that is in the domain. `told`: what the others are
  /// told of it. Throws as Group does.
  [[nodiscard]] static std::shared_ptr<DomainCore> join(std::uint32_t domain, const EndpointQos& told, const Config& config,
                                                        JoinAs as = JoinAs::participant, DomainWatch watch = {});
  ~DomainCore();
  /// Leaves, if it has not. A reader in another process that has no room holds it up for `leave_patience`, and a change of
  /// the view. On no thread for listeners.
  void end();
  DomainCore(const DomainCore&) = delete;
  DomainCore& operator=(const DomainCore&) = delete;

  [[nodiscard]] Monitor& monitor() noexcept { return monitor_; }
  [[nodiscard]] ListenerThread& listeners() noexcept { return listeners_; }
  [[nodiscard]] TimerThread& timers() noexcept { return timers_; }
  [[nodiscard]] std::uint32_t domain() const noexcept { return domain_; }
  [[nodiscard]] View view() const { return group_->view(); }
  [[nodiscard]] const EndpointId& self() const noexcept { return own_.id; }  ///< the participant, as an endpoint
  [[nodiscard]] EndpointId new_id() { return {own_.id.node, ++last_number_, own_.id.incarnation}; }

  /// An onlooker becomes a participant, before it has topics: asks for all histories.
  void take_part();

  // Without the monitor. They throw Exception; refused: others have it with another type or Reliability.

  /// The subgroup by which the topic travels: the layout's subgroup that lists it, or one that is created. `logged`: it has
  /// to be a logged one.
  [[nodiscard]] Subgroup& topic_subgroup(const EndpointFacts& facts, const TypeSupport& type, bool logged);
  /// Tells all of an endpoint, or that it has changed; returns when it is known here, and on its way to all others before
  /// whatever they are sent behind it.
  void announce(const EndpointFacts& facts);
  /// Tells all what is to be told of this participant from now on.
  void change(const EndpointQos& told);
  /// Returns when this participant has what others kept of the subgroup's topics before it came.
  void await_history(const Subgroup& subgroup);
  /// Tells all that a writer lives, or all of that kind of liveliness that its process has.
  void assert_alive(const EndpointId& writer, std::uint8_t liveliness);
  /// Returns the first topic of that name that some participant has. Nothing: none within the time.
  [[nodiscard]] std::optional<EndpointFacts> await_topic(const std::string& name, std::int64_t limit_ns);
  /// Has the writer say its last words as soon as there is room for them, and retires it when all have come.
  void end_later(const std::shared_ptr<WriterCore>& writer);
  /// The writer's last message was delivered: tells all that it is gone.
  void retire(const WriterCore& writer) noexcept;
  /// Tells all that it is gone. Never throws, but logs.
  void withdraw(const EndpointId& id) noexcept;

  // With the monitor held:
  [[nodiscard]] TopicHub& hub(const std::string& topic);
  /// The topic comes by that subgroup, which its readers without room hold up.
  void open_hub(const std::string& topic, Subgroup& subgroup);
  [[nodiscard]] const EndpointTable& table() const noexcept { return endpoints_.table(); }
  /// Why this participant is none any more; nothing: it is.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] BuiltinReaders& builtin_readers() noexcept { return builtin_readers_; }
  /// A participant, topic, writer or reader is nothing to this participant any more. Nothing in the domain has such an id:
  /// nothing happens, unless it comes.
  void ignore(const EndpointId& id);
  /// From now on the participant says that its AUTOMATIC writers live, often enough for that lease of one of them.
  void beat_for(const EndpointId& writer, std::int64_t lease_ns);
  void beat_no_more_for(const EndpointId& writer);

 private:
  DomainCore(std::uint32_t domain, const EndpointQos& told, DomainWatch watch);
  void enter(const Config& config);
  void take_topic(Subgroup& subgroup);
  void announce_self();

  // The poller's:
  void on_endpoints(std::span<const Delivery> batch);
  void on_endpoint_message(const Delivery& delivery);
  /// Says who is to call the listeners that hear of it.
  [[nodiscard]] ListenersOn on_samples(Subgroup& subgroup, std::span<const Delivery> batch);
  void on_view(const NewView& news);
  void on_failure(const Error& why);
  // On the thread for states:
  void save(std::ostream& to);
  void load(std::istream& from);

  const std::uint32_t domain_;
  Monitor monitor_;
  ListenerThread listeners_;
  TimerThread timers_;
  Errands errands_;
  Heart heart_;
  std::atomic<std::uint32_t> last_number_{0};
  // Behind the monitor:
  EndpointFacts own_;  // the participant, as others are told of it; its id is for all threads
  ShownEndpoints endpoints_{monitor_};
  Ignored ignored_;
  BuiltinReaders builtin_readers_;
  Hubs hubs_;
  std::multimap<EndpointId, std::optional<std::string>> outcomes_;  // of what this participant announces: why it is refused
  std::optional<Error> failure_;                                    // why this participant is none any more
  HistoryExchange histories_;
  std::unique_ptr<Group> group_;  // the last one: its handlers use all others
};

}  // namespace spindrift::topics
