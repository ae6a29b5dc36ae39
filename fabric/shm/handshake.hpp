// How two processes come to have exactly one link, no matter which called the other, and when. Of two calls that cross, the
// one made by the lower node id counts; the called process alone decides, by answering with a welcome or turning the caller
// away. A call that ends without an answer reached a process that was dying, and is made again to the process that listens
// there now.
//
// Fewer rules than between hosts (connected/call_rules.hpp), because the kernel tells at once whether somebody listens, that
// a process has ended, and that a call is over. Under the watcher's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <spindrift/fabric/rendezvous.hpp>
#include <spindrift/fabric/shm/links.hpp>
#include <spindrift/fabric/turned_away.hpp>

namespace spindrift::fabric::shm {

class Handshake {
 public:
  using Serial = PeerLinks::Serial;

  /// Serials are those from `first_serial` on. The rest outlives this object.
  Handshake(NodeId self, std::uint64_t incarnation, const Bell& bell, const Rendezvous& rendezvous, Serial first_serial,
            LinkContext context, PeerLinks& links)
      : self_(self),
        incarnation_(incarnation),
        bell_(bell),
        rendezvous_(rendezvous),
        context_(context),
        links_(links),
        next_serial_(first_serial) {}

  /// A link is wanted from here on. Errors: resource, unsupported (too many peers).
  [[nodiscard]] Result<void> connect(NodeId node);
  /// The link ends, and the wish for it; nothing of the peer is told from here on.
  void disconnect(PeerId peer) {
    if (const auto node = links_.disconnect(peer)) wanted_.erase(*node);
  }
  void turn_away(NodeId node, std::optional<Error> why);
  /// So many descriptors this process must still be able to open when it takes in another peer: its present peers would lose
  /// it if it ran out of them in the next view.
  void keep_free(std::size_t descriptors) { keep_free_ = descriptors; }

  /// A process of this user has called.
  void on_caller(FileDescriptor socket, pid_t pid);
  /// Somebody listens as that node; nothing: any node.
  void on_arrival(std::optional<NodeId> node);
  /// The end of this call's other side, or what it says. False: there is no such call, or no longer.
  bool on_socket(Serial serial);
  /// The process of a link has ended; its successor may listen already.
  void call_again(NodeId node);

 private:
  struct Call {
    enum class State : std::uint8_t {
      greeting,  ///< accepted; the caller's hello has not come
      calling,   ///< called; our hello is out
    };
    State state = State::greeting;
    FileDescriptor socket;
    pid_t pid = 0;  ///< as the kernel says
    NodeId node{};  ///< calling: the node called
  };
  using Calls = std::map<Serial, Call>;

  [[nodiscard]] Result<void> call(NodeId node);
  [[nodiscard]] Calls::iterator calling(NodeId node);
  void on_frame(Serial serial, Call& call, Packet packet);
  [[nodiscard]] bool credible(Serial serial, const Call& call, const GreetingFrame& greeting);
  void on_hello(Serial serial, const GreetingFrame& greeting, FileDescriptor bell);
  void on_welcome(Serial serial, const GreetingFrame& greeting, FileDescriptor bell);
  [[nodiscard]] bool has_room();
  [[nodiscard]] std::optional<TurnedAway> make_way(NodeId node, std::uint64_t incarnation);
  void establish(Serial serial, const GreetingFrame& greeting, FileDescriptor bell);
  void answer_no(Serial serial, TurnedAway why);
  void on_turned_away(Serial serial, const FrameHead& head);
  void on_ended(Serial serial);
  void starve(Serial serial, Error why);
  void on_failed_call(NodeId node, const Error& why);
  void reject(Serial serial, const std::string& why);

  const NodeId self_;
  const std::uint64_t incarnation_;
  const Bell& bell_;
  const Rendezvous& rendezvous_;
  const LinkContext context_;
  PeerLinks& links_;
  TurnedAwayNodes turned_away_;
  Serial next_serial_;
  Calls calls_;
  std::map<NodeId, unsigned> wanted_;  ///< and how many more calls may fail in a row
  std::size_t keep_free_ = 0;
};

}  // namespace spindrift::fabric::shm
