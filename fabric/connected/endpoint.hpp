// The endpoint of a connection-based fabric as its poller sees it: own regions, lanes to peers, who is being called, events
// and sleep. A provider derives from it: it opens itself, begins and answers calls, reports, and posts operations. It stands
// alone, or is the part of a fabric that has another way to some peers.
//
// Two processes may call each other at once. The invariant to remember: of two calls that cross, that of the lower node id
// stands, unless the other side calls again; and who answers a call says how many it has made itself, so that those still
// under way are known as over.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/connected/lane.hpp>
#include <spindrift/fabric/connected/region.hpp>
#include <spindrift/fabric/connected/resolver.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/part.hpp>
#include <spindrift/fabric/rendezvous.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

/// What the sockets of one connection take at least, those of both sides together.
inline constexpr std::uint64_t socket_bytes = std::uint64_t{1} << 20;

/// Which fabric it is, and what is told of it.
struct Character {
  std::string name;
  bool needs_target_progress = false;
  std::uint64_t buffered_bytes = 0;           ///< see Traits
  std::uint64_t remote_key_max = UINT64_MAX;  ///< under which a peer may expose a region
};

/// What every endpoint has from the beginning.
struct Beginning {
  std::uint64_t incarnation = 0;  ///< random, not 0
  FileDescriptor bell;            ///< an eventfd
  std::optional<Rendezvous> rendezvous;
  std::unique_ptr<MemorySource> memory;  ///< of regions; at first `private_mappings`
};
/// Errors: as Rendezvous::open; resource.
[[nodiscard]] Result<Beginning> make_beginning(const std::string& runtime_directory, const std::string& group_name);
/// Of an endpoint whose node's id is claimed by somebody else in this process. Errors: resource.
[[nodiscard]] Result<Beginning> make_part_beginning();

class Endpoint : public Part {
 public:
  ~Endpoint() override;

  // Of a part, to which another part lends memory and sleep.
  /// As OwnRegions::adopt.
  [[nodiscard]] Result<void> adopt(RegionKey key, std::span<std::byte> memory, std::unique_ptr<Registration> keeper) {
    return regions_.adopt(key, memory, std::move(keeper));
  }
  /// Of a region that is not released.
  [[nodiscard]] bool has(RegionKey key) noexcept { return regions_.find(key) != nullptr; }
  void turn_away(NodeId node, std::optional<Error> why) final;
  /// Readable when something has come: of calls always, of all else after `prepare_sleep`. None: -1.
  [[nodiscard]] std::array<int, 3> descriptors() const noexcept {
    return {bell_.get(), descriptors_.completions, descriptors_.reports};
  }
  /// Takes what made the first of them, or the second, readable; the next `poll` looks for what it means.
  void take_signals(bool bell, bool completions) noexcept;
  /// Whether there are connections, or events: then every pass has to `poll`.
  [[nodiscard]] bool busy() const noexcept { return !lanes_.empty() || !events_.empty(); }
  /// Whether nobody is called either: then nothing comes that no descriptor tells.
  [[nodiscard]] bool idle() const noexcept { return !busy() && next_timer() == never; }
  /// When it has to be polled even if nothing comes.
  [[nodiscard]] Time next_timer() const noexcept { return listening_ ? std::min(next_timer_, next_look()) : next_timer_; }
  /// After `prepare_sleep` and a last look: nothing is here that a descriptor would not tell.
  [[nodiscard]] bool may_sleep() noexcept { return (!listening_ || may_block()) && events_.empty(); }

  [[nodiscard]] const Traits& traits() const noexcept final { return traits_; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) final;
  void release(RegionKey region) final;
  [[nodiscard]] Result<void> listen(const Address& self) final;
  [[nodiscard]] Result<void> connect(const Address& peer) final;
  void disconnect(PeerId peer) final;
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) final;
  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) final;
  void unmap(PeerId peer, RegionKey region) final;
  [[nodiscard]] std::uint64_t unsent_bytes(PeerId peer) const noexcept final;
  [[nodiscard]] Result<void> check(std::span<const Operation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<Event> events) final;
  void notify() noexcept final {}  // nobody maps a region of this process
  void prepare_sleep() noexcept final;
  void sleep(Time deadline) noexcept final;
  void cancel_sleep() noexcept final;
  void wake() noexcept final;

 protected:
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  /// What a sleeper waits for; none: -1.
  struct Descriptors {
    int completions = -1;
    int reports = -1;
  };

  /// `clock` outlives the endpoint.
  Endpoint(NodeId self, Duration silence_max, Character character, Beginning beginning, const Clock& clock = system_clock);
  /// What a derived class's destructor begins with. What was said last is still handed over, if the peers take it; who calls
  /// now is turned away.
  void end();

  // What a provider says of itself.
  /// Opens it at that address, and listens there. Errors: as Fabric::listen.
  [[nodiscard]] virtual Result<Descriptors> open(const SocketAddress& at) = 0;
  /// A lane that calls. Errors: resource.
  [[nodiscard]] virtual Result<std::unique_ptr<Lane>> start_call(NodeId node, const SocketAddress& address) = 0;
  /// Asked of each node that is about to be called, before its address is looked up.
  enum class Knows : std::uint8_t {
    nothing,  ///< it is called at its address, by `start_call`
    soon,     ///< it is called when the provider says `call_again`
    enough,   ///< it is called by `start_known_call`
  };
  [[nodiscard]] virtual Knows knows(NodeId) { return Knows::nothing; }
  /// A lane that calls a node of which the provider knows how it is reached. Errors: resource.
  [[nodiscard]] virtual Result<std::unique_ptr<Lane>> start_known_call(NodeId node);
  /// Takes what is known of calls and of connections that end: `welcome`, `answered`, `established`, Lane::break_down.
  virtual void take_reports() = 0;
  /// Takes what is over, and what came: `message_came`, `completed`, `settle`. Whether there was any.
  virtual bool take_completions() = 0;
  /// The peer has sent small writes in a message.
  virtual void on_writes(Lane& lane, std::span<const std::byte> writes) = 0;
  /// The lane is no longer among `lanes`; it is about to be closed.
  virtual void on_gone(Lane&) {}
  /// From here on what comes makes a descriptor readable.
  virtual void arm() noexcept {}
  /// Takes what made the descriptor of completions readable.
  virtual void disarm() noexcept {}
  /// Nothing has come that the descriptors would not tell.
  [[nodiscard]] virtual bool may_block() noexcept = 0;
  /// When there is something to do though the descriptors tell nothing.
  [[nodiscard]] virtual Time next_look() const noexcept { return never; }
  /// All lanes are closed, and memory is about to go.
  virtual void shut() noexcept {}

  // What a provider reports.
  /// A call came. Nothing: it is to be turned away; else what it replaces has ended.
  [[nodiscard]] std::optional<Greeting> welcome(std::span<const std::byte> greeting);
  /// `lane` answers the call that came with this greeting.
  void answered(std::unique_ptr<Lane> lane, const Greeting& greeting);
  /// Both sides can send. `greeting`: the other side's, if this one called.
  void established(Lane& lane, std::span<const std::byte> greeting);
  /// Where no connection tells that both can: the first word of a caller on a lane that answers. Any but a goodbye says
  /// that the answer was heard; a goodbye gives the call up, which then never was a link. Then comes `message_came`.
  void confirmed(Lane& lane, std::span<const std::byte> word);
  void message_came(Lane& lane, std::span<const std::byte> message);
  /// An own signaled operation is over.
  void completed(Lane& lane, std::uint64_t context);
  /// The provider has found out how the node is reached, or has given up: it is called now, if that is still wanted.
  void call_again(NodeId node);
  /// Reports may be there: they are looked for in the next pass.
  void expect_reports() noexcept { passes_ = UINT32_MAX / 2; }

  // What a provider asks.
  /// With a call to that node, or the answer to one of its own.
  [[nodiscard]] GreetingBytes greeting_to(NodeId node);
  [[nodiscard]] NodeId self() const noexcept { return self_; }
  /// Of this endpoint, as its greetings say it.
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return incarnation_; }
  [[nodiscard]] const Lanes& lanes() const noexcept { return lanes_; }
  [[nodiscard]] Lane* find(PeerId peer) noexcept;
  [[nodiscard]] Time now() const noexcept { return now_; }
  /// Of one operation of a list, before anything of the list is executed. Errors: bad_argument.
  [[nodiscard]] Result<void> check_one(const Operation& operation);
  [[nodiscard]] OwnRegion* region_of(const std::byte* memory, std::size_t bytes) noexcept {
    return regions_.holding(memory, bytes);
  }
  /// One that used the region does so no more.
  void settle(OwnRegion& region) { regions_.settle(region); }

 private:
  /// What this process has to do with a node that it called or was called by.
  struct Node {
    std::string endpoint;
    bool wanted = false;
    bool resolving = false;
    std::uint64_t attempts = 0;  ///< the number of the last one
    Time next_attempt{};
    Duration pause{};
    std::string last_failure;
  };
  static const SystemClock system_clock;

  // endpoint.cpp: what the caller asks for
  void ring() noexcept;
  void tell(Lane& lane, Event event);
  void on_control(Lane& lane, const Control& control);

  // links.cpp: calls, and what ends
  void progress();
  void excuse();
  void look_at_reports();
  [[nodiscard]] bool elsewhere(NodeId node);
  [[nodiscard]] static bool unheard(Lane& lane, const Greeting& greeting, Time now);
  [[nodiscard]] bool make_room_for(const Greeting& greeting);
  void add(std::unique_ptr<Lane> lane);
  void up(Lane& lane);
  void lose(Lane& lane);
  void call(NodeId id, Node& node);
  void call(NodeId id, Node& node, const SocketAddress& address);
  void calling(Node& node, Result<std::unique_ptr<Lane>> lane);
  void attempt_failed(Node& node, std::string why);
  [[nodiscard]] bool has_lane(NodeId node, std::initializer_list<Lane::State> states) const noexcept;
  void sweep();
  void keep_time();

  const NodeId self_;
  const Duration silence_max_;
  const Character character_;
  const std::uint64_t incarnation_;
  const Traits traits_;
  const Clock& clock_;
  Time now_{};
  Time last_progress_{};
  Time awake_{};  ///< since then, without a look
  Time next_timer_ = never;
  Time next_alive_{};
  std::uint32_t passes_ = 0;  ///< since reports were looked for
  bool unsettled_ = false;    ///< somebody is being called, answers or closes: reports are looked for in every pass
  bool listening_ = false;
  bool ends_ = false;

  FileDescriptor bell_;
  std::atomic<bool> asleep_{false};
  Descriptors descriptors_;
  std::optional<Rendezvous> rendezvous_;
  Lanes lanes_;
  OwnRegions regions_;
  std::unordered_map<PeerId, Lane*> peers_;
  PeerId newest_peer_;
  std::map<NodeId, Node> nodes_;
  std::map<NodeId, Error> turned_away_;  ///< whose calls are not answered, and why
  std::set<NodeId> told_;                ///< of which that was said
  std::deque<Event> events_;
  Resolver resolver_;
};

}  // namespace spindrift::fabric::connected
