// How a participant comes to what others kept of topics before it was there: it asks one of them, in each topic's subgroup.
//
// The invariant to remember: a request has its place in the subgroup's order, the same at both. The one that answers
// sends what it kept up to that place; the one that asked keeps what is delivered behind it. So nothing is missing, and
// nothing is there twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <spindrift/dds/domain_watch.hpp>
#include <spindrift/dds/errands.hpp>
#include <spindrift/dds/topic_hub.hpp>

namespace spindrift::topics {

/// A participant's topics, by the digests of their names, and who looks on from below.
struct Hubs {
  const DomainWatch watch{};
  std::map<std::uint64_t, TopicHub> all{};
  std::map<const Subgroup*, SubgroupHold> holds{};  ///< of the subgroups by which they come
  /// The one whose message came by that subgroup.
  [[nodiscard]] TopicHub& of(std::uint64_t topic, const Subgroup& subgroup) {
    TopicHub& hub = all[topic];
    hub.come_by(subgroup);
    return hub;
  }
  void on_alive(const EndpointId& writer, std::uint8_t liveliness) {
    for (auto& [topic, hub] : all) hub.on_alive(writer, liveliness);
  }
  /// Whether the message is a mark, by which a process tells itself that all it had sent before has come.
  bool on_mark(const Subgroup& subgroup, const Delivery& delivery, const EndpointId& self) {
    const auto mark = SubgroupHold::mark_in(delivery.payload, delivery.sender.value());
    if (!mark) return false;
    for (auto& [topic, hub] : all) {
      if (mark->process() == self.process() && hub.home() == &subgroup) hub.on_mark(mark->number);
    }
    return true;
  }
};

/// With the monitor held, all of it.
class HistoryExchange {
 public:
  /// `settled` is called, as an errand, once this participant has everything.
  HistoryExchange(Monitor& monitor, Errands& errands, Hubs& hubs, std::function<void()> settled)
      : monitor_(monitor), errands_(errands), hubs_(hubs), settled_(std::move(settled)) {}

  /// A subgroup of topics is there.
  void add(Subgroup& subgroup);
  /// Asks for the histories of those that are there, once; of later ones this participant has all itself.
  void begin(const EndpointId& self, const EndpointTable& table);
  /// Whether the message is one of histories, which this takes.
  [[nodiscard]] bool on_message(Subgroup& subgroup, const Delivery& delivery);
  /// Asks others in place of those that are gone.
  void on_view(const View& view, const EndpointTable& table);
  [[nodiscard]] bool complete(const Subgroup& subgroup) const;

 private:
  enum class Kind : std::uint32_t { request = 1, piece = 2, last_piece = 3 };
  struct HistoryHeader {
    std::uint64_t form = current_form;
    EndpointId asking;  ///< who asks, and the number of the request
    EndpointId asked;
    std::uint32_t kind = 0;
    std::uint32_t unused = 0;
    static constexpr std::uint64_t current_form = 0x3173696873647073;  // "spdshis1"
  };
  /// A history that is still to come.
  struct Awaited {
    EndpointId asking;
    EndpointId asked;
    bool placed = false;                             ///< the request was delivered here
    std::map<std::uint64_t, TopicHistory> before;    ///< what was kept here before that, by topic
    std::map<std::uint64_t, TopicHistory> answered;  ///< and there, as far as it has come
    std::vector<std::byte> rest;                     ///< of a piece: the beginning of a sample
  };

  void ask(Subgroup& subgroup, const EndpointTable& table);
  void place(const Subgroup& subgroup, Awaited& awaited);
  void answer(Subgroup& subgroup, const HistoryHeader& request);
  void finish(const Subgroup& subgroup);
  void settle_if_all();
  static void send(Subgroup& subgroup, HistoryHeader header, std::span<const std::byte> bytes);
  static void send_all(Subgroup& subgroup, HistoryHeader header, const std::vector<KeptSample>& kept);
  /// Takes the samples out of a piece that are whole now. False: these are none.
  [[nodiscard]] static bool take_piece(std::span<const std::byte> piece, Awaited& awaited);

  Monitor& monitor_;
  Errands& errands_;
  Hubs& hubs_;
  std::function<void()> settled_;
  EndpointId self_;
  std::uint32_t last_request_ = 0;
  bool begun_ = false;
  std::map<std::string, Subgroup*> subgroups_;
  std::map<const Subgroup*, Awaited> awaited_;
};

}  // namespace spindrift::topics
