// The founder's steps and those of who follows.
#include <spindrift/views/founding.hpp>

#include <algorithm>
#include <functional>
#include <utility>

#include <spindrift/core/ids_text.hpp>

namespace spindrift::views {
namespace {

bool sees_a_group(std::span<const Founding::Met> met) {
  return std::any_of(met.begin(), met.end(), [](const Founding::Met& each) { return !each.fresh; });
}

const Founding::Met* find(std::span<const Founding::Met> met, NodeId node) {
  const auto found = std::find_if(met.begin(), met.end(), [&](const Founding::Met& each) { return each.who.node == node; });
  return found == met.end() ? nullptr : &*found;
}

/// Those that look for a group.
std::vector<Join> joins_of(std::span<const Founding::Met> met) {
  std::vector<Join> fresh;
  for (const Founding::Met& each : met) {
    if (each.fresh) fresh.push_back(each.who);
  }
  return fresh;
}

/// The founding of those that remember, of whom the first asks.
PromiseRequest founding_of(const std::vector<Join>& founders) {
  PromiseRequest request;
  for (const Join& each : founders) {
    request.members.push_back(each.node);
    request.incarnations.push_back(each.incarnation);
  }
  return request;
}

/// The founders, some of whom the file may lack, and the rest of the file as far as there is room: for `most` nodes, which
/// are no fewer than the founders.
Roster roster_of(std::span<const NodeId> founders, const Roster& file, std::size_t most) {
  Roster roster = file;
  for (const NodeId node : founders) {
    if (!roster.contains(node)) roster.nodes.push_back({node, {}});
  }
  const auto founds = [&](const NodeAddress& each) { return std::ranges::find(founders, each.node) != founders.end(); };
  while (roster.nodes.size() > most) {
    const auto absent = std::find_if_not(roster.nodes.rbegin(), roster.nodes.rend(), founds);
    roster.nodes.erase(std::next(absent).base());
  }
  return roster;
}

/// The incarnation with which that node is asked; nothing if it is not.
std::optional<std::uint64_t> incarnation_in(const PromiseRequest& request, NodeId node) {
  const auto place = std::find(request.members.begin(), request.members.end(), node);
  if (place == request.members.end()) return std::nullopt;
  return request.incarnations[static_cast<std::size_t>(place - request.members.begin())];
}

/// Whether the hellos of all others in that founding are here: each of them can hear this process from the first view on.
bool is_linked_with_all(const PromiseRequest& request, NodeId self, std::span<const Founding::Met> met) {
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    const Founding::Met* const each = find(met, request.members[i]);
    const bool linked = each != nullptr && each->who.incarnation == request.incarnations[i];
    if (!linked && request.members[i] != self) return false;
  }
  return true;
}

/// The highest version that all in that founding speak; `own`: the newest that this process does.
std::uint32_t spoken_by_all(const PromiseRequest& request, std::span<const Founding::Met> met, std::uint32_t own) {
  for (const Founding::Met& each : met) {
    if (incarnation_in(request, each.who.node)) own = std::min(own, each.versions.newest);
  }
  return own;
}

}  // namespace

std::vector<NodeId> founders_among(std::vector<NodeId> present, const Join& self, std::span<const Founding::Met> met,
                                   std::span<const Apart> apart) {
  std::uint64_t earliest = self.incarnation;
  for (const Founding::Met& each : met) {
    if (each.fresh) earliest = std::min(earliest, each.who.incarnation);
  }
  std::erase_if(present, [&](NodeId node) {
    const auto found = std::find_if(apart.begin(), apart.end(), [node](const Apart& each) { return each.node == node; });
    return found != apart.end() && found->fresh_as > earliest;
  });
  return present;
}

std::optional<Error> in_minority(std::span<const NodeId> founders, std::span<const Apart> apart) {
  std::string nodes;
  std::string reason;
  std::size_t count = 0;
  for (const Apart& each : apart) {
    if (std::find(founders.begin(), founders.end(), each.node) == founders.end()) continue;
    nodes += (nodes.empty() ? "node " : ", ") + std::to_string(each.node.value());
    reason = each.reason;
    ++count;
  }
  if (2 * count <= founders.size()) return std::nullopt;
  const std::string what = "most of the founders, " + nodes + ", and this node cannot be in one group: " + reason;
  return Error(ErrorKind::refused, what).fix(how_to_compare());
}

Founding::Founding(Join self, std::vector<NodeId> founders, LayoutFunction layout, Roster roster, OwnRecord* record)
    : self_(self), founders_(std::move(founders)), layout_(std::move(layout)), roster_(std::move(roster)) {
  if (record != nullptr && record->is_kept()) memories_.emplace(self, *record);
}

Founding::Founding(Join self, LayoutFunction layout, Roster roster)
    : self_(self), by_(FoundedBy::present), layout_(std::move(layout)), roster_(std::move(roster)) {}

bool Founding::on_request(const Join& from, PromiseRequest request) {
  const bool known = founders_.empty() || request.members == founders_ || (memories_ && request.by_memory());
  const bool founder = request.members.front() == from.node && request.incarnations.front() == from.incarnation;
  const bool meant = from.node != self_.node && incarnation_in(request, self_.node) == self_.incarnation;
  if (!known || !founder || !meant) return false;
  defer_to(request);
  std::erase_if(asked_, [&](const PromiseRequest& each) { return each.members.front() == from.node; });
  asked_.push_back(std::move(request));
  return true;
}

// Another start of the founder may have had a higher ballot: this one takes a higher still.
void Founding::on_promise(NodeId from, const Promise& promise) {
  if (!request_) return;
  if (promise.ballot == request_->ballot && promise.founder == self_.incarnation) {
    const auto place = std::find(request_->members.begin(), request_->members.end(), from);
    const auto rank = static_cast<std::uint32_t>(place - request_->members.begin());
    if (place != request_->members.end()) replies_.promised.add(Rank(rank));
    ask_again_if_refused();
  } else if (promise.ballot >= request_->ballot) {
    ballot_ = promise.ballot;
    request_.reset();
  }
}

// A process whose memory is another than the request says does not promise itself: it is asked again.
void Founding::on_remembered(const Join& from, Remembered said) {
  if (!memories_) return;
  memories_->on_remembered(from, std::move(said));
  if (!request_ || incarnation_in(*request_, from.node) != from.incarnation) return;
  const auto place = std::ranges::find(request_->members, from.node) - request_->members.begin();
  if (memories_->digest_of(from) != request_->basis[static_cast<std::size_t>(place)])
    replies_.refused.add(Rank(static_cast<std::uint32_t>(place)));
  ask_again_if_refused();
}

// Not before all have answered: those that have not accepted this one yet, and do in the meantime, remember more than the
// next request says, refuse that, and so on for ever, each of them behind another one.
void Founding::ask_again_if_refused() {
  RankSet answered = replies_.promised;
  answered.add(replies_.refused);
  const bool refused = !replies_.promised.includes(replies_.refused);
  if (refused && answered == RankSet::first(request_->members.size())) request_.reset();
}

void Founding::on_lost() {
  request_.reset();
  if (memories_) memories_->on_lost();
}

void Founding::on_notice(const Join& from, ViewNotice notice) {
  if (accepts(from, notice)) {
    notices_.followed = std::move(notice);
  } else if (is_in(notice.view) && promised_to_ && era_of(notice.view.id) < era_of(promised_to_->view)) {
    notices_.earlier = notice.view.id;
  }
}

bool Founding::is_in(const View& view) const {
  const auto rank = view.rank_of(self_.node);
  return rank && view.incarnations[rank->value()] == self_.incarnation;
}

bool Founding::accepts(const Join& from, const ViewNotice& notice) const {
  return is_in(notice.view) && may_follow(from, notice.view.id);
}

// A view behind that founding was made in knowledge of it, and without it, where nodes keep a record. One by force does not
// come to be but by its founder, who is in no view yet: when that is taken in by a group of an earlier era, it gives up.
bool Founding::may_follow(const Join& from, ViewId view) const {
  if (!promised_to_ || incarnation_in(*promised_to_, from.node) == from.incarnation) return true;
  const bool own = promised_to_->members.front() == self_.node;
  return memories_ && (view > promised_to_->view || (own && era_of(view) < era_of(promised_to_->view)));
}

Founding::Step Founding::step(std::span<const Met> met, const Look& look, std::span<const Apart> apart) {
  Step step;
  step.view = std::exchange(notices_.followed, std::nullopt);
  if (step.view) return step;
  exchange(met, apart, step);
  promise(met, step);
  found(met, look, step);
  exchange(met, apart, step);  // what it has accepted just now
  return step;
}

// A process that is set apart is known to look for a group, too, if it says so.
void Founding::exchange(std::span<const Met> met, std::span<const Apart> apart, Step& step) {
  living_.clear();
  if (!memories_ || sees_a_group(met)) return;
  std::vector<Join> looking = joins_of(met);
  memories_->tell(looking, step.messages);
  for (const Apart& each : apart) {
    if (each.fresh_as != 0) looking.push_back({each.node, each.fresh_as});
  }
  living_ = memories_->living(looking);
}

// A process that sees a group waits to be taken in: it promises nothing while that group is there.
void Founding::promise(std::span<const Met> met, Step& step) {
  if (asked_.empty() || sees_a_group(met) || !living_.empty()) return;
  std::vector<PromiseRequest> all = std::exchange(asked_, {});
  std::ranges::sort(all, std::greater(), &PromiseRequest::ballot);
  for (const PromiseRequest& asked : all) answer(asked, met, step);
}

void Founding::answer(const PromiseRequest& asked, std::span<const Met> met, Step& step) {
  const Met* const founder = find(met, asked.members.front());
  if (founder == nullptr || founder->who.incarnation != asked.incarnations.front()) return;
  if (!promised_to_ || promised_to_->ballot < asked.ballot) {
    if (!is_linked_with_all(asked, self_.node, met) || outranks(asked, met)) return asked_.push_back(asked);
    if (!consents(asked)) return;
    promised_to_ = asked;
    request_.reset();
    forced_.reset();
  }
  step.messages.push_back({founder->who.node, encode(Promise{promised_to_->ballot, promised_to_->incarnations.front()})});
}

// The founder that does not know what this process remembers is told, and asks again.
bool Founding::consents(const PromiseRequest& asked) {
  if (!memories_) return true;
  if (memories_->is_known_to(asked)) return memories_->accept(asked);
  memories_->on_lost();
  return false;
}

// Those that are named, or all that are there at this moment; none if nobody knows, or if they are too many for one view.
std::vector<NodeId> Founding::founders(const Look& look) const {
  if (by_ == FoundedBy::named) return founders_;
  auto all = look ? look() : std::nullopt;
  if (!all || all->size() >= roster_count_max) return {};
  all->insert(std::lower_bound(all->begin(), all->end(), self_.node), self_.node);
  return *std::move(all);
}

// A process that is told by those who run the group asks itself, in whatever order the others are.
std::optional<PromiseRequest> Founding::founding_by_memory(const Recalled& recalled) const {
  std::vector<Join> founders = recalled.founders;
  const auto asks_first = [&](const Join& each) { return each == self_; };
  if (is_forced(recalled)) std::stable_partition(founders.begin(), founders.end(), asks_first);
  return founders.front() == self_ ? std::optional(founding_of(founders)) : std::nullopt;
}

// All founders as they are here, each of them fresh, if no group is: where one runs already, it takes this node in.
std::optional<PromiseRequest> Founding::complete(std::span<const Met> met, const Look& look) const {
  if (sees_a_group(met)) return std::nullopt;
  if ((by_ == FoundedBy::present || memories_) && request_) return request_;  // who came later asks this one
  if (memories_) {
    const Recalled recalled = memories_->recalled(joins_of(met));
    if (recalled.state == Recalled::State::waits && !is_forced(recalled)) return std::nullopt;
    if (recalled.state != Recalled::State::first_day) return founding_by_memory(recalled);
  }
  std::vector<NodeId> all = founders(look);
  if (all.empty() || all.front() != self_.node) return std::nullopt;
  PromiseRequest request{.ballot = 0, .members = std::move(all), .incarnations = {self_.incarnation}};
  for (std::size_t i = 1; i < request.members.size(); ++i) {
    const Met* const each = find(met, request.members[i]);
    if (each == nullptr) return std::nullopt;
    request.incarnations.push_back(each->who.incarnation);
  }
  return request;
}

// Says what the founding rests on. False: somebody has not said yet what it remembers, or speaks no version in which there
// are as many nodes.
bool Founding::remember(std::span<const Met> met, PromiseRequest& request) {
  const Recalled recalled = memories_->recalled(joins_of(met));
  request.roster = first_roster(request.members, recalled.roster);
  if (request.roster.nodes.size() > roster_count_max_in(version_)) return false;
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    const auto digest = memories_->digest_of({request.members[i], request.incarnations[i]});
    if (!digest) return false;
    request.basis.push_back(*digest);
  }
  const bool forced = is_forced(recalled);
  logs_ = forced ? logs_by_force(recalled) : first_logs(recalled.logs, logs_of(recalled.have, request.members));
  request.logs = recorded(first_view(request).view).logs;
  request.view = first_id(recalled, request);
  if (forced) forced_->as = request.view;
  return true;
}

// The same founding, of which no more is to be remembered when it is asked for again. If it were another each time, those
// that accepted the one could only refuse the next. It is another once a founding of other nodes is remembered by that id:
// both may come to be, one after the other. One that is forced is of a later era than all before, and of one of its own for
// each that may ask: whoever has gone on from the same view without these ends when the two meet.
ViewId Founding::first_id(const Recalled& recalled, const PromiseRequest& request) const {
  const bool forced = is_forced(recalled);
  const bool latest = is_last_asked(request) && recalled.next == ViewId(promised_to_->view.value() + 1);
  if (latest && !recalled.contested && (!forced || forced_->as == promised_to_->view)) return promised_to_->view;
  if (!forced) return recalled.next;
  const ViewId before(recalled.next.value() - 1);
  return id_behind(before, forced_number(before, recalled.members.size(), self_.node));
}

bool Founding::is_forced(const Recalled& recalled) const {
  return forced_ && recalled.state == Recalled::State::waits && forced_->names(recalled);
}

// One that gave up at the request of the other, which has given up at its own, would leave a founding that nobody asks for.
bool Founding::outranks(const PromiseRequest& other, std::span<const Met> met) const {
  return forced_ && self_.node < other.members.front() && is_forced(memories_->recalled(joins_of(met)));
}

// Two that are told to ask the same would outdo each other for ever: the one of the higher node gives up.
void Founding::defer_to(const PromiseRequest& other) {
  if (!forced_ || self_.node < other.members.front()) return;
  forced_.reset();
  request_.reset();
}

bool Founding::is_last_asked(const PromiseRequest& request) const {
  return promised_to_ && promised_to_->members == request.members && promised_to_->incarnations == request.incarnations &&
         promised_to_->roster == request.roster && promised_to_->logs == request.logs;
}

// The first of the founders founds, when all of them are here, none has seen a view, and all have promised to see no other.
// One that founds with those who are present has promised itself, too: it goes into another first view only as they do.
void Founding::found(std::span<const Met> met, const Look& look, Step& step) {
  std::optional<PromiseRequest> request = complete(met, look);
  if (!request) return request_.reset();
  if (!request_) {
    version_ = spoken_by_all(*request, met, roster_.version);
    if (request->members.size() > roster_count_max_in(version_)) return;
    if (memories_ && (!living_.empty() || !remember(met, *request) || !memories_->accept(*request))) return;
    if (promised_to_) ballot_ = std::max(ballot_, promised_to_->ballot);
    request->ballot = ++ballot_;
    request_ = std::move(request);
    if (by_ == FoundedBy::present || memories_) promised_to_ = request_;
    replies_ = {RankSet::first(1), {}};
    for (const Met& each : met) {
      if (incarnation_in(*request_, each.who.node)) step.messages.push_back({each.who.node, encode(*request_)});
    }
  }
  if (replies_.promised == RankSet::first(request_->members.size())) step.view = first_view(*request_);
}

std::string Founding::kept_by_memory(std::span<const Met> met) const {
  if (!memories_ || sees_a_group(met)) return {};
  const std::vector<Join> fresh = joins_of(met);
  const Recalled recalled = memories_->recalled(fresh);
  if (recalled.state == Recalled::State::waits) {
    const bool logged = !recalled.logs.empty() && !recalled.awaited.empty();
    const auto layout = logged ? layout_(recalled.awaited.back().nodes, nullptr) : std::vector<SubgroupView>();
    return words_of(recalled, self_.node, memories_->own(), layout) + words_of_tellers(memories_->tellers(recalled, fresh));
  }
  if (living_.empty()) return {};
  return "on this host node" + std::string(living_.size() == 1 ? " " : "s ") + listed(living_) +
         (living_.size() == 1 ? " runs" : " run") + " without a connection with this one, and may go on from the last view";
}

// Whole before anybody accepts it: who founds anew behind it, where nobody knows whether it came to be, goes on from that.
Roster Founding::first_roster(std::span<const NodeId> members, const Roster& remembered) const {
  const std::vector<SubgroupView> layout = layout_({members.begin(), members.end()}, nullptr);
  Roster roster = remembered.nodes.empty() ? roster_of(members, roster_, roster_count_max_in(version_)) : remembered;
  roster.version = version_;
  if (roster.sizes.empty()) roster.filed = digest_of(ring_sizes_of(layout));
  roster.sizes = kept_ring_sizes(layout, roster.sizes);
  if (!remembered.nodes.empty() && roster != remembered) ++roster.edition;
  return roster;
}

ViewNotice Founding::first_view(const PromiseRequest& request) const {
  ViewNotice first;
  first.view.members = request.members;
  first.view.incarnations = request.incarnations;
  first.view.id = request.view;
  first.view.roster = request.roster.nodes.empty() ? first_roster(request.members, {}) : request.roster;
  first.view.subgroups = first_subgroups(layout_, first.view.members, logs_);
  set_ring_sizes(first.view.subgroups, first.view.roster.sizes);
  for (const AddedSubgroup& each : first.view.roster.added)
    first.view.subgroups.push_back(in_view(each, first.view.members, nullptr));
  for (const SubgroupView& subgroup : first.view.subgroups) {
    RankSet& loaded = first.loaded.emplace_back();
    for (const NodeId node : subgroup.members) loaded.add(*first.view.rank_of(node));
  }
  begin_logs(first.view, first.loaded, logs_);
  return first;
}

}  // namespace spindrift::views
