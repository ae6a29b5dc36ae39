// An observer of a domain of this host: it learns what the domain has from the members' files, and reads topics without
// being one of them. Nobody waits for it, no majority counts it, and no participant knows of it. Its errors are Exception,
// with their kinds; topic_observer.hpp has readers of C++ types.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/dds/dynamic_reader.hpp>

namespace spindrift::topics {

class EndpointsWatch;
class ObservedReader;
struct ObservedTopic;

class DomainObserver {
 public:
  /// Domain 0 to 232, or that of a configuration's file, as DynamicParticipant. Joins nothing, and waits for nobody. Throws
  /// bad_argument, bad_config; refused: others could write the directory of the members' files; resource.
  DomainObserver(std::uint32_t domain, const std::string& file, const std::vector<ConfigOverride>& overrides);
  ~DomainObserver();
  DomainObserver(const DomainObserver&) = delete;
  DomainObserver& operator=(const DomainObserver&) = delete;

  /// Whether the domain can be read so: members of this host show what it has; or it can have no others, and nobody is here
  /// yet. False: its members are on other hosts, or of an earlier release. Waits for members that have just begun, two
  /// seconds at most. Throws what is wrong with the members' files.
  [[nodiscard]] bool suffices() const;

  /// All topics of the domain, by name; none as long as nobody shows any.
  [[nodiscard]] std::vector<AnnouncedTopic> topics() const;
  /// How many participants are in the domain.
  [[nodiscard]] std::size_t participants() const;
  /// Reads what comes from now on; this object outlives the reader. Throws unsupported: a history, or writers that wait;
  /// resource.
  [[nodiscard]] DynamicReader read(const AnnouncedTopic& topic, const DynamicReading& how) const;
  /// The same as a type that the program has. Throws refused: the domain has the topic with another type; resource.
  [[nodiscard]] std::shared_ptr<ObservedReader> read(ObservedTopic topic) const;
  /// The fault of the members' files, where none is good; nothing: one is, or there is none.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  Config config_;
  bool here_alone_;  // the domain can have no members on other hosts
  std::unique_ptr<EndpointsWatch> watch_;
};

}  // namespace spindrift::topics
