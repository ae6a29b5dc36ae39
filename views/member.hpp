// One member of a group, as a pure protocol object: it finds the others, founds or joins the group, runs the multicast of
// every subgroup in view after view, and leaves. Stepped by a poller thread in production and by the simulator in tests;
// reads no clock, takes no lock, starts no thread.
//
// The invariant to remember: everything of a view lives in its Epoch: rows, rings, counts, decree. A view's end is decided
// once (view_change.hpp), delivered up to the decree's trim, and only then does the next Epoch begin, in fresh memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/deliveries.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/sends.hpp>
#include <spindrift/views/silence_watch.hpp>
#include <spindrift/views/transfer.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

struct MemberOptions {
  NodeId self;
  /// Not 0, and differs from start to start of the same node. If it grows, others see at once which start is the later one;
  /// if not, they have to wait until the one in their view gives no sign of life.
  std::uint64_t incarnation = 0;
  std::vector<fabric::Address> roster;  ///< of all nodes that may be in the group, this one included
  /// Who must all be present to found the first view, in rank order. If these are not the whole roster, they can found a
  /// second group while the others of the first run out of their sight: whoever configures so must know that none runs.
  /// Empty: the founder's word is taken for who they are.
  std::vector<NodeId> founders;
  GroupIdentity identity;  ///< what all members must agree on
  LayoutFunction layout;
  smc::Policy policy;
  std::shared_ptr<smc::Stepper> stepper = std::make_shared<smc::Stepper>();  ///< how multicasts are stepped
  Duration suspect_after{};                        ///< without a sign of life; 0: silence is no ground for suspicion
  bool partition_safety = true;                    ///< go on with a majority only
  std::uint64_t backlog_bytes_max = 64ULL << 20U;  ///< per subgroup, of deliveries kept while its state is on the way
};

enum class MemberState : std::uint8_t {
  idle,        ///< not started
  looking,     ///< for the founders, or for a group that takes this node in
  installing,  ///< a view is agreed; its rows are being exchanged
  active,      ///< sending and delivering
  changing,    ///< the view is ending: wedged, until its successor is decided
  left,        ///< done, in order
  failed,      ///< removed, refused, or without a majority; `failure()` says which
};

[[nodiscard]] std::string_view to_string(MemberState state) noexcept;

class Member final {
 public:
  struct Step {
    bool progress = false;  ///< step again at once; otherwise sleep until woken or `wake_at`
    Time wake_at = never;
  };

  /// `fabric`, which listens already, `upcalls` and `counters` outlive the member.
  Member(MemberOptions options, fabric::Fabric& fabric, Upcalls& upcalls, CounterBlock& counters);
  ~Member();

  /// Starts to look for the others. Errors: unsupported (a trait is missing), resource.
  [[nodiscard]] Result<void> start();

  /// One pass: events, view change, predicates of the subgroups with news, one push. What an upcall throws goes through;
  /// then call `stop`.
  Step step(Time now);

  /// Leaves at once and tells the others why. For failures outside the protocol; the poller's thread.
  void stop(Error reason);

  /// Asks for a graceful leave; any thread. Sends are refused from now on; when everything sent before is delivered
  /// everywhere, the others agree on a view without this node, and the state becomes `left`.
  void request_leave() noexcept { leave_requested_.store(true, std::memory_order_seq_cst); }
  [[nodiscard]] bool leave_requested() const noexcept { return leave_requested_.load(std::memory_order_seq_cst); }

  /// Sends one message to one member of the present view, in order with others to the same; poller's thread. Dropped if it
  /// is not there. Errors: bad_argument (too large).
  [[nodiscard]] Result<void> send_private(NodeId to, std::span<const std::byte> message);
  [[nodiscard]] std::size_t private_bytes_max() const noexcept;
  /// The application found bytes of this member that no correct one sends; poller's thread.
  void accuse(NodeId node, const std::string& what);

  /// Where application threads send; as many as the layout has subgroups, for the member's whole life. Any thread.
  [[nodiscard]] SendGate& gate(SubgroupId id) { return sends_.gate(id); }
  [[nodiscard]] std::size_t subgroup_count() const noexcept { return shapes_.size(); }
  /// Name, mode, profile and topics of every subgroup of the layout.
  [[nodiscard]] const std::vector<SubgroupView>& shapes() const noexcept { return shapes_; }

  // The rest: the poller's thread.
  [[nodiscard]] MemberState state() const noexcept { return state_; }
  /// Set in state `failed`.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  [[nodiscard]] NodeId self() const noexcept { return options_.self; }
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return options_.incarnation; }
  /// Founders that have not been met; while looking.
  [[nodiscard]] std::vector<NodeId> missing() const;
  /// The present view's epoch; null before the first.
  [[nodiscard]] Epoch* epoch() noexcept { return epochs_.empty() ? nullptr : epochs_.back().get(); }
  [[nodiscard]] const Epoch* epoch() const noexcept { return epochs_.empty() ? nullptr : epochs_.back().get(); }
  /// Epochs whose memory is still here, oldest first, the present one last.
  [[nodiscard]] const std::vector<std::unique_ptr<Epoch>>& epochs() const noexcept { return epochs_; }
  /// States on their way to newcomers, and from others.
  [[nodiscard]] const Transfers& transfers() const noexcept { return transfers_; }
  /// Whether this subgroup's state is still on its way here.
  [[nodiscard]] bool loading(SubgroupId id) const { return deliveries_.loading(id); }

 private:
  /// What this process has with one other of the roster.
  struct Peer {
    enum class State : std::uint8_t {
      away,     ///< not connected
      greeted,  ///< my hello is on its way
      agreed,   ///< its hello agrees with me
    };
    struct Offer {
      fabric::RegionKey region;
      std::uint64_t bytes = 0;
      fabric::Access access = fabric::Access::read;
    };
    fabric::Address address;
    State state = State::away;
    bool mappable = false;
    bool spoke = false;      ///< as a suitor; its words are being heard
    bool fresh = false;      ///< in no view yet, or not known to be
    bool settled = false;    ///< it said that it was fresh, and since then that it is in a view
    fabric::PeerId id;
    std::uint64_t incarnation = 0;
    /// Another connection of the node: the next incarnation's, or that of one that died before. What comes of it waits until
    /// the present one is over or proves to be of less use; if it is over first itself, it is forgotten.
    struct Suitor {
      fabric::PeerId id;
      bool mappable = false;
      bool greeted = false;            ///< its first words were a hello of this group
      std::size_t bytes = 0;           ///< of all that is kept in `events`
      std::vector<std::byte> parts{};  ///< of a message that comes in parts
      std::vector<fabric::Event> events{};
    };
    std::vector<Suitor> suitors;      ///< the next to be adopted last
    std::vector<std::byte> parts;     ///< of a message that comes in parts
    /// A view, and a subgroup if it is about that one's bulk rings; without one, about the row.
    using What = std::pair<ViewId, std::optional<SubgroupId>>;
    std::optional<What> announced;  ///< what its next exposed region is
    std::map<What, Offer> offers;   ///< of rows, bulk rings or mirrors, for the present view and the next
  };

  // links.cpp: connections, hellos, candidates
  static void remember(std::vector<Join>& list, const Join& who);
  bool take_events();
  bool take_early();
  void on_event(fabric::Event& event);
  void on_connected(const fabric::Event& event);
  void greet(fabric::PeerId id);
  void on_message(Peer& peer, std::span<const std::byte> bytes);
  void on_hello(Peer& peer, const Hello& hello);
  void suspect_if_older(const Peer& peer);
  void on_farewell(Peer& peer, const std::string& reason, bool turned_away);
  void part_from(const Peer& peer, std::string reason, bool turned_away);
  void on_exposed(Peer& peer, const fabric::Event& event);
  void on_lost(Peer& peer, const std::string& reason);
  void hang_up(Peer& peer, bool broke = false);
  void refuse(Peer& peer, std::string_view reason);
  void accuse(Peer& peer, std::string reason);
  void send_to(const Peer& peer, std::vector<std::byte> message);
  void post_to(const Peer& peer, std::vector<std::byte> message);
  [[nodiscard]] Peer* peer_of(fabric::PeerId id);
  [[nodiscard]] Peer* peer_of(NodeId node);
  [[nodiscard]] bool concerns_self(const ViewNotice& notice) const;
  [[nodiscard]] std::optional<Rank> rank_of(const Peer& peer) const;
  void tell_settled();
  void note_candidates();

  // founding.cpp: the first view
  [[nodiscard]] bool sees_a_group() const;
  void on_founding(Peer& peer, Founding founding);
  bool promise_when_free();
  void on_promise(const Peer& peer, const Promise& promise);
  [[nodiscard]] bool may_follow(NodeId node, std::uint64_t incarnation) const;
  bool follow_notice();
  [[nodiscard]] std::optional<Founding> complete() const;
  bool found_when_complete();
  void found();

  // suitors.cpp: a node's later connections, and messages in parts
  void on_part(Peer& peer, const Part& part);
  bool on_suitor(fabric::Event& event);
  [[nodiscard]] bool keep_early(Peer::Suitor& suitor, fabric::Event&& event);
  [[nodiscard]] bool outranks(const Peer& peer, const Peer::Suitor& suitor) const;
  void prefer_suitor(Peer& peer);
  void adopt_suitor(Peer& peer);
  void drop_suitors(Peer& peer);

  // install.cpp: from one view to the next
  void install(View view, std::vector<RankSet> loaded, NewView news);
  void notify(Peer& peer);
  void offer_row(Peer& peer);
  bool attach_rows();
  void attach(Rank rank, Peer& peer);
  bool conclude();
  void drop_old_epochs();
  void forget(Epoch& old);

  // install_bulk.cpp: the same for bulk rings
  [[nodiscard]] Result<std::vector<Epoch::Bulk>> allocate_bulk(const View& view);
  [[nodiscard]] bool shows_bulk(const SubgroupView& subgroup, NodeId from, NodeId to, bool mapped) const;
  [[nodiscard]] bool offer_bulk(Peer& peer);
  void attach_bulk(Rank rank, Peer& peer);

  // member.cpp: passes
  bool exchange_states();
  void take_states(bool& progress);
  bool step_epoch(Time now);
  void suspect_the_silent(Time now);
  void revoke_suspects(Epoch& epoch);
  bool depart(Time now);
  void end_in_order();
  [[nodiscard]] Error removed_error(const Epoch& present, const std::string& by_whom) const;
  [[nodiscard]] Error lost_majority(const Epoch& present) const;
  void activate();
  bool advance_leave();
  void beat(Time now);
  [[nodiscard]] RankSet passed_over() const;
  [[nodiscard]] Time next_wake() const;
  void push();
  void enter(MemberState state);
  void fail(Error error);

  MemberOptions options_;
  fabric::Fabric& fabric_;
  Upcalls& upcalls_;
  CounterBlock& counters_;

  std::vector<SubgroupView> shapes_;  // every subgroup's name, mode, profile and topics
  Sends sends_;
  Deliveries deliveries_;
  Transfers transfers_;
  MemberState state_ = MemberState::idle;
  std::optional<Error> failure_;
  std::atomic<bool> leave_requested_{false};
  std::vector<Peer> peers_;           // by place in the roster, without self
  std::vector<Join> removed_;         // incarnations that this node parted from: never again
  std::vector<Join> turned_away_;     // of those, the ones that parted from this node first
  std::vector<Join> gone_;            // incarnations whose connection broke, until they are back
  std::optional<ViewNotice> notice_;  // of a view with this node in it, while looking
  std::optional<Founding> asked_;     // by the founder, and not answered yet
  std::optional<Founding> promised_;  // the founding that this process has promised itself to
  std::optional<Founding> founding_;  // the founder's own, under way
  RankSet promises_;                  // who has promised itself to it
  std::uint64_t ballot_ = 0;          // the highest that the founder has used or heard of
  std::vector<Join> candidates_;      // who could be taken into the next view

  std::vector<std::unique_ptr<Epoch>> epochs_;    // the last is the present one; before it, those still of use
  std::vector<SubgroupId> state_lost_;            // as the present view's members were told
  std::size_t revoked_ = 0;                       // of the present epoch's suspicions, how many were acted upon
  Time now_{};
  SilenceWatch watch_;
  Time decided_at_{};
  bool finished_ = false;   // what the decree says was delivered; the application may still be at it
  bool departing_ = false;  // the decided view is without this node, on its own wish
  std::vector<fabric::Event> early_;  // of connections that have just taken the place of another
  std::array<fabric::Event, 16> events_;
};

}  // namespace spindrift::views
