// A reader that is no member: it reads the subgroup of its topic as an observer, and holds up nobody. It is among nobody's
// endpoints.
//
// A sample may come before the news of its writer, which the domain's members show by a file. It is taken all the same, for
// such a reader reads writers of any quality.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/dds/dynamic_parts.hpp>
#include <spindrift/dds/endpoints_watch.hpp>
#include <spindrift/dds/reader_core.hpp>
#include <spindrift/dds/topic_types.hpp>
#include <spindrift/group/observer.hpp>

namespace spindrift::topics {

/// Any thread.
class ObservedReader final : public DynamicSource {
 public:
  /// Begins with what comes from now on: returns once a member feeds it, unless none does within `feed_patience`. `watch`
  /// outlives it. Throws unsupported: a history, or writers that wait; resource.
  ObservedReader(const Config& config, const AnnouncedTopic& topic, const DynamicReading& how, EndpointsWatch& watch);
  ~ObservedReader() override;

  std::vector<ReadSample> take() override;
  /// With the messages of writers that never came, by their numbers: of a writer from the first one on that did.
  std::uint64_t lost() const override;

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
    std::uint64_t missed = 0;  ///< messages of writers
  };

  void run();
  /// Nothing more comes from anybody.
  void end(const Error& why);
  /// Reads what is there. Whether that was all.
  [[nodiscard]] bool read_on();
  void wait();
  void on_message(const Delivery& delivery);
  void apply(const SampleMessage& message, ViewId view);
  [[nodiscard]] Writer& known(const SampleEnvelope& header, ViewId view);
  void await_type(std::uint64_t identity);

  // With the monitor held:
  void take_in(std::shared_ptr<const ShownDomain> shown);
  /// Those are gone that members show no more: once all is read that was there then.
  void drop_gone(const ShownDomain& shown);

  const Config config_;
  const std::string topic_;
  EndpointsWatch& watch_;
  FileDescriptor wakes_;  // of changes, and of the end
  std::atomic<bool> stops_{false};
  mutable Monitor monitor_;
  ListenerThread listeners_;  // which nobody is, and so it does not run
  // Behind the monitor:
  TopicTypes types_;
  std::unique_ptr<ReaderCore> core_;
  std::shared_ptr<ReaderBacklog> backlog_;
  Heard heard_;
  bool fed_ = false;  // a member has fed it
  std::optional<Error> failure_;
  // The thread's:
  std::optional<Observer> observer_;
  std::set<std::uint64_t> strange_;  // types that were waited for
  std::thread thread_;
};

}  // namespace spindrift::topics
