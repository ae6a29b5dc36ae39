// How a process comes into its first view: it founds one with others, or is told of one that has taken it in. The founder
// has heard of every founder that it is fresh; but what it heard may be over, and a group that it does not see may just have
// taken that process in. So it asks all of them for a promise, and founds when it has every one. The founders are named by
// the configuration, the first of which founds; or they are whoever is present, of whom the lowest founds. Where nodes
// remember that a group was there, a majority of its last view founds the next one, be they configured as founders or not;
// or less, if those who run the group say so.
//
// The invariant to remember: a node that has promised itself to a founding goes into no other view, unless it is told of
// that by a process of the same founding. That one is in a view already: either it never made the promise, so the founding
// is void, or it was told likewise, by one that never did.
//
// Pure; of use until the first view. With named founders a process is the founder or one that follows, never both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/memories.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

/// The processes that have to promise themselves to the first view, and are in it.
enum class FoundedBy : std::uint8_t {
  named,    ///< the founders of the configuration
  present,  ///< every process that lives: the fabric knows them all
};

/// A process that runs as that node and cannot be in a group with this one.
struct Apart {
  NodeId node;
  std::uint64_t fresh_as = 0;  ///< its incarnation, if it says that it is in no view; 0: it is, or unknown
  std::string reason;
};

class Founding {
 public:
  /// Another process whose hello agrees with this one.
  struct Met {
    Join who;
    bool fresh = false;  ///< in no view yet, or not known to be
    Versions versions{message_form, message_form};
  };
  /// The consequence of what is known so far.
  struct Step {
    std::vector<Addressed> messages;
    std::optional<ViewNotice> view;  ///< the first one of this process: install it
  };

  /// `founders`: all of them in rank order, the founder first; empty: the founder's word is taken for who they are.
  /// `roster`: of a view that this process founds, beside those that found with it, in the highest version that all of these
  /// speak; its own is this process's newest. `record`: outlives this object; null, or
  /// none that is kept: nobody in the group remembers anything.
  Founding(Join self, std::vector<NodeId> founders, LayoutFunction layout, Roster roster = {}, OwnRecord* record = nullptr);
  /// Founded by whoever is present.
  Founding(Join self, LayoutFunction layout, Roster roster = {});

  /// The founder asks. False: it founds a group of others than are configured and here.
  [[nodiscard]] bool on_request(const Join& from, PromiseRequest request);
  void on_promise(NodeId from, const Promise& promise);
  void on_remembered(const Join& from, Remembered said);
  /// Those who run the group say that the processes of these nodes, this one among them, found the next view without the
  /// rest, which are no majority of the last one. `really`: or only whether they could, and what may be lost. This process
  /// asks; the word holds for these processes, as long as they are here, and nobody else comes who remembers the group.
  /// Errors: bad_argument (named twice, or this one is not named); refused (they could not, or need no force); unsupported
  /// (nothing is remembered, or an earlier release is among them); no_majority (they could; `really` is false).
  [[nodiscard]] Result<void> force(std::span<const NodeId> named, bool really, std::span<const Met> met,
                                   std::span<const Apart> apart);
  /// The sender of the notice is believed if `accepts` says so.
  void on_notice(const Join& from, ViewNotice notice);
  /// A connection is over. A node that comes back, with the same process or another, has to be asked again.
  void on_lost();
  /// The nodes as which other processes run, ascending, all of them at the moment of the call; nothing: nobody knows.
  using Look = std::function<std::optional<std::vector<NodeId>>()>;
  /// Takes the steps that are possible now, by what these others have said of themselves. `look`, where those present found,
  /// is called if this process could ask them now, behind whatever was heard and promised until then. `apart`: processes
  /// that are set apart.
  [[nodiscard]] Step step(std::span<const Met> met, const Look& look = {}, std::span<const Apart> apart = {});

  [[nodiscard]] FoundedBy by() const noexcept { return by_; }
  /// Whether this process is of no founding that it could begin: it looks for a group that is there.
  [[nodiscard]] bool only_follows() const noexcept { return by_ == FoundedBy::named && founders_.empty(); }
  /// For people: why what nodes remember keeps these and this process from founding. Empty: it does not.
  [[nodiscard]] std::string kept_by_memory(std::span<const Met> met) const;
  /// Other processes of this host have to end, or to say that they look for a group, too; they do not tell that they have.
  [[nodiscard]] bool awaits_neighbors() const noexcept { return !living_.empty(); }
  /// The error of a process that promised itself to a founding by force whose founder is gone, when a group of an earlier
  /// era has taken it in meanwhile, which it cannot follow: nobody can tell it that nothing came of that founding.
  [[nodiscard]] std::optional<Error> passed_over(std::span<const Met> met) const;
  /// The view of the founding by force to which this process has promised itself, as long as its founder is here and in no
  /// view: until then it goes into no view of an earlier era. 0: it is not bound so.
  [[nodiscard]] ViewId binding(std::span<const Met> met) const;
  /// Whether that view has this very process in it, and may be believed from there.
  [[nodiscard]] bool accepts(const Join& from, const ViewNotice& notice) const;

 private:
  /// The word of those who run the group.
  struct Forced {
    std::vector<Join> members;
    ViewId as;  ///< the id of the founding that was asked for by it; 0: none was yet
    [[nodiscard]] bool names(const Recalled& recalled) const;
  };
  /// The answers to a request, each by its founder's place there.
  struct Replies {
    RankSet promised;
    RankSet refused;  ///< the founder had not known all that these remember
  };

  /// Notices of views with this process in them that were told.
  struct Notices {
    std::optional<ViewNotice> followed;
    std::optional<ViewId> earlier;  ///< of an earlier era than the founding that this process has promised itself to
  };

  [[nodiscard]] bool is_in(const View& view) const;
  [[nodiscard]] bool may_follow(const Join& from, ViewId view) const;
  void promise(std::span<const Met> met, Step& step);
  void answer(const PromiseRequest& asked, std::span<const Met> met, Step& step);
  void found(std::span<const Met> met, const Look& look, Step& step);
  void exchange(std::span<const Met> met, std::span<const Apart> apart, Step& step);
  [[nodiscard]] bool consents(const PromiseRequest& asked);
  void ask_again_if_refused();
  [[nodiscard]] std::optional<PromiseRequest> complete(std::span<const Met> met, const Look& look) const;
  [[nodiscard]] bool remember(std::span<const Met> met, PromiseRequest& request);
  [[nodiscard]] bool is_last_asked(const PromiseRequest& request) const;
  [[nodiscard]] std::optional<PromiseRequest> founding_by_memory(const Recalled& recalled) const;
  [[nodiscard]] bool is_forced(const Recalled& recalled) const;
  [[nodiscard]] ViewId first_id(const Recalled& recalled, const PromiseRequest& request) const;
  void defer_to(const PromiseRequest& other);
  /// Whether that one gives up at this process's request, which therefore stands by its own.
  [[nodiscard]] bool outranks(const PromiseRequest& other, std::span<const Met> met) const;
  [[nodiscard]] std::vector<NodeId> founders(const Look& look) const;
  /// `remembered`: of the last view that nodes remember; without nodes: none do.
  [[nodiscard]] Roster first_roster(std::span<const NodeId> members, const Roster& remembered) const;
  [[nodiscard]] ViewNotice first_view(const PromiseRequest& request) const;

  Join self_;
  std::vector<NodeId> founders_;  // named
  FoundedBy by_ = FoundedBy::named;
  LayoutFunction layout_;
  Roster roster_;
  Notices notices_;
  std::vector<PromiseRequest> asked_;         // by founders, and not answered yet: of each its last
  std::optional<PromiseRequest> promised_to_;  // by somebody else; where founders are not named, the own request, too
  std::optional<PromiseRequest> request_;     // the founder's own, under way
  std::uint32_t version_ = 0;                 // the highest that all of those speak
  Replies replies_;                           // to it
  std::uint64_t ballot_ = 0;                  // the highest that the founder has used or heard of
  std::optional<Memories> memories_;          // where nodes keep a record
  std::vector<FirstLog> logs_;                // of the founder's first view
  std::optional<Forced> forced_;
  std::vector<NodeId> living_;  // processes of this host that may go on from a view: they are not known to be fresh
};

/// Those of the nodes present that found with `self`, be they in its file or not. One that is set apart is left out, for it
/// can promise nothing; but if it began before everybody who agrees with this process, `met` and itself, or is in a view, it
/// comes first, and is waited for.
[[nodiscard]] std::vector<NodeId> founders_among(std::vector<NodeId> present, const Join& self,
                                                 std::span<const Founding::Met> met, std::span<const Apart> apart);

/// The error of a process from which most of the named founders are set apart: it is this one that is mistaken. A single
/// other one proves nothing, and as many on either side wait for somebody to see to it. Nothing: it goes on waiting.
[[nodiscard]] std::optional<Error> in_minority(std::span<const NodeId> founders, std::span<const Apart> apart);

}  // namespace spindrift::views
