// Replicas of a logged subgroup in one process, whose objects have Persistent fields: the test gives messages versions.
// The time of version v is 1000 · (v + 1) ns, and in a query behind it what is before 1000 · (v + 1) + 500 ns is settled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/group/persistent.hpp>

#include "replicated_fixture.hpp"

namespace spindrift {

inline LogTime at_ns(std::int64_t ns) { return LogTime(std::chrono::nanoseconds(ns)); }

template <class T>
class PersistentFixture : public ReplicaFixture<T> {
 public:
  explicit PersistentFixture(std::uint32_t count) : ReplicaFixture<T>(0) {
    this->logged = true;
    for (std::uint32_t node = 0; node < count; ++node) this->add(NodeId(node));
    this->install_view();
  }
  /// Delivers the next message of the order to all, as that version.
  void deliver(std::uint64_t version) {
    REQUIRE_FALSE(this->ordered().empty());
    delivered_.push_back({this->ordered().front(), version});
    this->ordered().pop_front();
    const auto& [sent, its_version] = delivered_.back();
    Delivery delivery = this->next_delivery(sent.from, sent.bytes);
    delivery.version = its_version;
    for (std::size_t which = 0; which < this->members.size(); ++which) this->deliver_to(which, delivery);
    while (this->deliver_query() || this->deliver_private()) {
    }
  }
  /// Gives a member all that was delivered, as its log has it.
  void replay(std::size_t which) {
    for (const auto& [sent, version] : delivered_) {
      Delivery delivery = this->next_delivery(sent.from, sent.bytes);
      delivery.version = version;
      this->core(which).on_replay(std::span(&delivery, 1));
    }
  }
  /// An update of node 0 as that version; what it returned.
  template <auto method, class... Arguments>
  auto update(std::uint64_t version, Arguments&&... arguments) {
    const auto call = (*this)[0].template update<method>(std::forward<Arguments>(arguments)...);
    deliver(version);
    return call.get();
  }

 private:
  std::vector<std::pair<typename ReplicaFixture<T>::Sent, std::uint64_t>> delivered_;
};

}  // namespace spindrift
