// A reader that is no member: it reads the subgroup of its topic as an observer, and holds up nobody. It is among nobody's
// endpoints.
//
// A sample may come before the news of its writer, which the domain's members show by a file: Strangers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/dds/endpoints_watch.hpp>
#include <spindrift/dds/reader_core.hpp>
#include <spindrift/dds/topic_types.hpp>
#include <spindrift/group/observer.hpp>

namespace spindrift::topics {

/// The writers of which samples come before anybody has shown them.
enum class Strangers : std::uint8_t {
  matched,  ///< their samples are read: the reader matches writers of nearly any quality
  awaited,  ///< their samples wait for half a second until they are shown, and are lost if they are not
};

/// A topic as an observer reads it.
struct ObservedTopic {
  EndpointFacts facts{};  ///< of the reader: its topic, type and qualities
  const TypeSupport* type = nullptr;
  CacheRules rules{};
  std::function<bool(const void*)> filter{};  ///< the samples that it wants; empty: all
  Strangers strangers = Strangers::matched;
};

/// Any thread.
class ObservedReader {
 public:
  /// Begins with what comes from now on: returns once a member feeds it, unless none does within `feed_patience`. `watch`
  /// outlives it. Throws refused: the domain has the topic with a type that cannot be read as this one; resource.
  ObservedReader(const Config& config, ObservedTopic topic, EndpointsWatch& watch);
  ~ObservedReader();
  ObservedReader(const ObservedReader&) = delete;
  ObservedReader& operator=(const ObservedReader&) = delete;

  /// Throws what has ended it, once nothing is left: as the constructor, and as Observer.
  [[nodiscard]] std::vector<ReadSample> get(const SampleSelection& which, bool take);
  /// The samples that came and were dropped, and the messages of writers that never came, by their numbers: of a writer from
  /// the first one on that did.
  [[nodiscard]] std::uint64_t lost() const;
  /// Messages were overtaken behind the last one of some writer, or its end: more of its samples may be missing than `lost`
  /// counts, as long as it says nothing.
  [[nodiscard]] bool more_may_be_lost() const;
  /// The member that it waits for, in words, as long as none feeds it; empty: one does.
  [[nodiscard]] std::string waits_for() const;
  /// The writers that it matches.
  [[nodiscard]] std::vector<EndpointFacts> matched() const;
  /// The status of data alone: there is something to take, or nothing comes any more.
  [[nodiscard]] std::uint32_t status_changes() const;
  [[nodiscard]] const std::string& topic() const noexcept { return topic_; }

 private:
  struct Writer {
    std::uint64_t last = 0;  ///< its message that came last; 0: none has
    ViewId since{};          ///< the view in which it was known first
    std::optional<EndpointFacts> shown{};  ///< as the members' files have it; nothing: they have not named it yet
  };

  struct Heard {
    std::map<EndpointId, Writer> writers{};
    std::set<EndpointId> ended{};  ///< said that they are gone, and may still be shown
    std::shared_ptr<const ShownDomain> shown{};
    std::uint64_t missed = 0;            ///< messages of writers
    std::set<EndpointId> silent{};       ///< writers of which nothing came since messages were overtaken
    bool silent_gone = false;            ///< some such writer is gone
  };

  struct Feeding {
    bool began = false;       ///< a member has fed it
    std::string waits_for{};  ///< while none does
  };

  void run();
  /// Reads what is there. Whether that was all.
  [[nodiscard]] bool read_on();
  void wait();
  void on_message(const Delivery& delivery);
  void on_gap();
  void apply(const SampleMessage& message, ViewId view);
  [[nodiscard]] Writer& known(const SampleEnvelope& header, ViewId view);
  void await_type(std::uint64_t identity);
  void await_writer(const EndpointId& writer);
  /// Waits until the members' files say what makes `holds` true, for as long as that takes a member at most.
  void await_shown(const std::function<bool()>& holds);

  // With the monitor held:
  void take_in(std::shared_ptr<const ShownDomain> shown);
  /// Those are gone that members show no more: once all is read that was there then.
  void drop_gone(const ShownDomain& shown);
  /// Nothing more comes from anybody.
  void fail(const Error& why);

  const Config config_;
  const std::string topic_;
  const Strangers strangers_;
  EndpointsWatch& watch_;
  FileDescriptor wakes_;  // of changes, and of the end
  std::atomic<bool> stops_{false};
  mutable Monitor monitor_;
  ListenerThread listeners_;  // which nobody is, and so it does not run
  // Behind the monitor:
  TopicTypes types_;
  std::unique_ptr<ReaderCore> core_;
  Heard heard_;
  Feeding feeding_;
  std::optional<Error> failure_;
  // The thread's:
  std::optional<Observer> observer_;
  std::set<std::uint64_t> strange_;  // types that were waited for
  std::thread thread_;
};

}  // namespace spindrift::topics
