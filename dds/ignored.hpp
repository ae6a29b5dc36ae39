// The participants, topics, writers and readers that one participant is told to ignore.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <spindrift/dds/endpoint.hpp>

namespace spindrift::topics {

/// Not thread-safe.
class Ignored {
 public:
  void add(const EndpointId& id) { ids_.insert(id); }
  /// All writers and readers of that participant's topic.
  void add_topic(const EndpointId& process, const std::string& topic) { topics_.emplace(process, topic); }
  [[nodiscard]] bool holds(const EndpointFacts& facts) const {
    const EndpointId process = facts.id.process();
    return ids_.contains(facts.id) || ids_.contains(process) || topics_.contains({process, facts.topic});
  }

 private:
  std::set<EndpointId> ids_;  // a participant's: all that it has
  std::set<std::pair<EndpointId, std::string>> topics_;
};

}  // namespace spindrift::topics
