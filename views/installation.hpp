// The epochs of this member: memory for a view that begins, the exchange of rows and of what lies beside them with its other
// members, and the end of epochs that nobody needs any more.
//
// The invariant to remember: what a member shows to whom is a function of the view, so each knows what to wait for: of every
// subgroup that the two share the ring, if rows are split and mapped, and the bulk rings; then the row. A notice before each
// region says which one it is. Of a subgroup that the other is not in it shows nothing but the words of its row.
//
// The poller's. An epoch lives until every member of the present view reads all its rows, and what it left over is sent.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/messages.hpp>

namespace spindrift::views {

/// A connection with a process that is in the present view, or may come into the next.
struct PeerConnection {
  Join who;
  fabric::PeerId id;
  bool mappable = false;  ///< its regions can be read in place
};

/// A region that a peer is let at: the notice goes first.
struct Showing {
  Message notice;
  fabric::RegionKey region;
  fabric::Access access = fabric::Access::read;
};

class Installation {
 public:
  struct Options {
    NodeId self;
    std::size_t subgroups = 0;  ///< of the layout
    smc::Policy policy;
    std::uint64_t table_bytes = 0;  ///< of each row, for the program's own tables
    Remembrance remembrance{};  ///< outlives this object
  };
  /// The row, or of one subgroup what lies beside it.
  enum class Part : std::uint8_t { row, ring, bulk };
  /// The purpose of a region.
  struct What {
    ViewId view;
    Part part = Part::row;
    SubgroupId subgroup{};
    friend auto operator<=>(const What&, const What&) = default;
  };
  struct Offer {
    fabric::RegionKey region;
    std::uint64_t bytes = 0;
    fabric::Access access = fabric::Access::read;
    std::span<const std::byte> memory{};  ///< mapped as soon as it came: it stays when its owner dies before it is used
  };

  /// The rest outlives this object. `sink`: where deliveries of all epochs go.
  Installation(Options options, fabric::Fabric& fabric, smc::DeliverySink& sink, CounterBlock& counters);

  /// The present view's epoch; null before the first.
  [[nodiscard]] Epoch* present() const noexcept { return epochs_.empty() ? nullptr : epochs_.back().get(); }
  /// Epochs whose memory is still here, oldest first, the present one last.
  [[nodiscard]] const std::vector<std::unique_ptr<Epoch>>& epochs() const noexcept { return epochs_; }

  /// Makes that view the present one, in fresh memory. `newcomers`: as others have told, for the own first view alone.
  /// Errors: resource; then nothing has changed.
  [[nodiscard]] Result<void> begin(View view, std::vector<RankSet> loaded, const Mandate::Terms& terms,
                                   const RankSet& newcomers = {});
  /// The memory that a member of the present view is to be shown next: the row itself to read it in place, or a mirror to
  /// write into. Nothing when it was shown everything, or is suspected. Errors: resource.
  [[nodiscard]] Result<std::optional<Showing>> next_offer(const PeerConnection& to);

  /// The next region of this peer is this one.
  void on_notice(const PeerConnection& from, const What& what) { shown_[from.id].announced = what; }
  /// A region came. False: unannounced, or one too many, or not for what it was announced.
  [[nodiscard]] bool on_exposed(const PeerConnection& from, const Offer& offer);
  /// Gives up what was shown for earlier views than the present one: by that peer, by all.
  void forget_earlier(fabric::PeerId peer);
  void forget_earlier();
  /// A connection is over. What was shown on it is given up, unless its process is `dying`: then it will testify.
  void on_lost(const PeerConnection& with, bool dying = false);
  /// That process is waited for no more in the views before the present one, for its connection is over.
  void suspect_in_earlier(const Join& who);
  /// The process at the other end of a connection that is over, dying, is dead for certain. `complete`: all that it had
  /// shown this one is here.
  void on_died(fabric::PeerId peer, bool complete);

  /// Takes up the rows of the present view that are here by now. Returns the members whose rows it was.
  RankSet attach(std::span<const PeerConnection> members);
  /// Drops epochs that nobody needs: neither `users`, to send own messages again, nor a member that left on its own wish,
  /// which has `patience` to learn that it has (0: as long as it takes). Once every member of a view reads all its rows,
  /// nobody else does.
  template <class Users>
  void drop_old(Time now, Duration patience, const Users& users) {
    std::erase_if(epochs_, [&](const std::unique_ptr<Epoch>& old) {
      if (users.uses(*old) || old.get() == present() || !old->leavers_know(now, patience)) return false;
      release(*old);
      return true;
    });
  }

 private:
  /// The memory that one peer has shown.
  struct Shown {
    std::optional<What> announced;
    std::map<What, Offer> offers;   ///< for the present view and later ones
    std::optional<ViewId> first{};  ///< the first view of which a row came
    PeerConnection with{};          ///< known once the connection is over
    enum class End : std::uint8_t { none, dying, dead, dead_and_heard } end = End::none;
  };

  void give_up(fabric::PeerId peer, const Shown& shown);
  void forget_earliest_dead();
  void hear_the_dead(Epoch& epoch, Shown& shown);
  [[nodiscard]] Testimonies::Word word_of(Epoch& epoch, Rank rank, Shown& shown);
  [[nodiscard]] Result<std::span<const std::byte>> map(const PeerConnection& from, const Offer& offer);

  [[nodiscard]] RankSet newcomers_in(const View& view) const;
  [[nodiscard]] Result<std::vector<Epoch::Beside>> allocate_beside(const View& view);
  [[nodiscard]] bool shows(Part part, const SubgroupView& subgroup, NodeId from, NodeId to, bool mapped) const;
  [[nodiscard]] Result<Showing> offer_bulk(SubgroupId id, const PeerConnection& to);
  void attach(Epoch& epoch, Rank rank, const PeerConnection& from, std::map<What, Offer>& offers);
  [[nodiscard]] std::string attach_beside(Epoch& epoch, Rank rank, const PeerConnection& from,
                                          std::map<What, Offer>& offers);
  [[nodiscard]] std::string attach_ring(Epoch& epoch, Rank rank, SubgroupId id, const PeerConnection& from,
                                        const Offer& offer);
  [[nodiscard]] std::string attach_bulk(Epoch& epoch, SubgroupId id, const PeerConnection& from, const Offer& offer);
  void release(Epoch& old);

  Options options_;
  fabric::Fabric& fabric_;
  smc::DeliverySink& sink_;
  CounterBlock& counters_;
  std::vector<std::unique_ptr<Epoch>> epochs_;  // the last is the present one; before it, those still of use
  std::map<fabric::PeerId, Shown> shown_;
};

}  // namespace spindrift::views
