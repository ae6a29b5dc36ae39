// Memory for a view, rows shown and attached, memory given back.
#include <spindrift/views/installation.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>

namespace spindrift::views {
namespace {

constexpr std::size_t offers_max = 4;                                // views of which a peer's regions are kept
constexpr std::size_t dead_max = 2 * std::size_t{member_count_max};  // processes remembered that died before the first view
constexpr Installation::Part parts_beside[] = {Installation::Part::ring, Installation::Part::bulk};  // of each subgroup

}  // namespace

Installation::Installation(Options options, fabric::Fabric& fabric, smc::DeliverySink& sink, CounterBlock& counters)
    : options_(std::move(options)), fabric_(fabric), sink_(sink), counters_(counters) {}

Result<void> Installation::begin(View view, std::vector<RankSet> loaded, const Mandate::Terms& terms,
                                 const RankSet& newcomers) {
  view.table_bytes = options_.table_bytes;
  const sst::RowLayout layout(view, options_.self);
  SPINDRIFT_TRY_ASSIGN(const fabric::Region row, fabric_.allocate(layout.shared_bytes(), "row"));
  SPINDRIFT_TRY_ASSIGN(auto beside, allocate_beside(view));
  const RankSet known_newcomers = present() == nullptr ? newcomers : newcomers_in(view);
  epochs_.push_back(std::make_unique<Epoch>(std::move(view), std::move(loaded), options_.self, row, std::move(beside),
                                            options_.policy, terms, sink_, counters_, known_newcomers,
                                            options_.remembrance));
  for (auto& [peer, shown] : shown_) {
    if (shown.end != Shown::End::none) hear_the_dead(*present(), shown);
  }
  std::erase_if(shown_, [&](const auto& each) {
    if (each.second.end == Shown::End::none || rank_of(present()->view(), each.second.with.who)) return false;
    give_up(each.first, each.second);
    return true;
  });
  return {};
}

// Those that the present view has not, and those that are new there if not all of its members came to read each other.
RankSet Installation::newcomers_in(const View& view) const {
  RankSet newcomers;
  const ViewChange& change = present()->change();
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    const auto rank = rank_of(present()->view(), {view.members[i], view.incarnations[i]});
    if (!rank || (change.newcomers().contains(*rank) && !change.everybody_ready())) newcomers.add(Rank(i));
  }
  return newcomers;
}

// Mirrors are allocated when the first peer is met that needs one.
Result<std::vector<Epoch::Beside>> Installation::allocate_beside(const View& view) {
  std::vector<Epoch::Beside> beside(view.subgroups.size());
  for (std::size_t s = 0; s < beside.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    if (!subgroup.sender_rank(options_.self)) continue;
    const Profile& profile = subgroup.profile;
    if (profile.split_rows) {
      SPINDRIFT_TRY_ASSIGN(beside[s].ring, fabric_.allocate(profile.ring_bytes, "ring"));
    }
    if (profile.bulk_ring_bytes > 0) {
      SPINDRIFT_TRY_ASSIGN(beside[s].bulk_ring, fabric_.allocate(profile.bulk_ring_bytes, "bulk ring"));
    }
  }
  return beside;
}

// Whether `from` exposes that part of this subgroup to `to`. A ring that is split off: to be read by who maps it. Of bulk
// rings the own one, to be read, or mirrors, to be written, by a sender of its own messages, and by any other that may hand
// on somebody's.
bool Installation::shows(Part part, const SubgroupView& subgroup, NodeId from, NodeId to, bool mapped) const {
  if (!subgroup.member_position(from) || !subgroup.member_position(to)) return false;
  if (part == Part::ring) return subgroup.profile.split_rows && mapped && subgroup.sender_rank(from).has_value();
  if (subgroup.profile.bulk_ring_bytes == 0) return false;
  if (mapped) return subgroup.sender_rank(from).has_value();
  if (sst::BulkRings::mirrors_bytes(subgroup, from) == 0) return false;
  return subgroup.sender_rank(to).has_value() || options_.policy.relay != smc::relay::direct;
}

Result<std::optional<Showing>> Installation::next_offer(const PeerConnection& to) {
  Epoch& epoch = *present();
  const Rank rank = *epoch.view().rank_of(to.who.node);
  Epoch::Line& line = epoch.line(rank);
  if (line.offered || epoch.change().suspected().contains(rank)) return std::optional<Showing>();
  if (!to.mappable && !line.mirror) {
    SPINDRIFT_TRY_ASSIGN(line.mirror, fabric_.allocate(epoch.table().layout(rank).bytes(), "mirror"));
  }
  while (line.beside_offered < std::size(parts_beside) * epoch.view().subgroups.size()) {
    const SubgroupId id(line.beside_offered / std::size(parts_beside));
    const Part part = parts_beside[line.beside_offered++ % std::size(parts_beside)];
    if (!shows(part, epoch.view().subgroup(id), options_.self, to.who.node, to.mappable)) continue;
    if (part == Part::ring) return std::optional(Showing{RingNotice{epoch.id(), id}, epoch.beside(id).ring->key});
    SPINDRIFT_TRY_ASSIGN(std::optional<Showing> bulk, offer_bulk(id, to));
    return bulk;
  }
  line.offered = true;
  const fabric::RegionKey offered = to.mappable ? epoch.row().key : line.mirror->key;
  const auto access = to.mappable ? fabric::Access::read : fabric::Access::write;
  return std::optional(Showing{RowNotice{epoch.id()}, offered, access});
}

Result<Showing> Installation::offer_bulk(SubgroupId id, const PeerConnection& to) {
  Epoch& epoch = *present();
  Epoch::Beside& beside = epoch.beside(id);
  if (!to.mappable && !beside.bulk_mirrors) {
    const std::uint64_t bytes = sst::BulkRings::mirrors_bytes(epoch.view().subgroup(id), options_.self);
    SPINDRIFT_TRY_ASSIGN(beside.bulk_mirrors, fabric_.allocate(bytes, "bulk mirrors"));
    epoch.table().bulk(id).set_mirrors(beside.bulk_mirrors->memory);
  }
  const fabric::RegionKey offered = to.mappable ? beside.bulk_ring->key : beside.bulk_mirrors->key;
  const auto access = to.mappable ? fabric::Access::read : fabric::Access::write;
  return Showing{BulkNotice{epoch.id(), id}, offered, access};
}

bool Installation::on_exposed(const PeerConnection& from, const Offer& offer) {
  const auto expected = from.mappable ? fabric::Access::read : fabric::Access::write;
  Shown& shown = shown_[from.id];
  const Epoch* const epoch = present();
  const std::size_t subgroups = options_.subgroups + added_place_count_max;
  const std::size_t most = offers_max * (1 + std::size(parts_beside) * subgroups);
  if (!shown.announced || offer.access != expected || shown.offers.size() == most) return false;
  const What what = *std::exchange(shown.announced, std::nullopt);
  if (what.part == Part::ring && !from.mappable) return false;
  if (what.part == Part::row && !shown.first) shown.first = what.view;
  if (epoch != nullptr && what.view < epoch->id()) {
    fabric_.unmap(from.id, offer.region);
    return true;
  }
  Offer& kept = shown.offers[what] = offer;
  if (!from.mappable) return true;
  if (auto memory = fabric_.map(from.id, offer.region)) kept.memory = *memory;  // else it is found out when it is attached
  return true;
}

void Installation::forget_earlier(fabric::PeerId peer) {
  const auto shown = shown_.find(peer);
  if (shown == shown_.end()) return;
  std::erase_if(shown->second.offers, [&](const auto& offer) {
    if (offer.first.view >= present()->id()) return false;
    fabric_.unmap(peer, offer.second.region);
    return true;
  });
}

void Installation::forget_earlier() {
  for (const auto& [peer, shown] : shown_) forget_earlier(peer);
}

// A process that dies before this one is in a view may be in the first that it hears of.
void Installation::on_lost(const PeerConnection& with, bool dying) {
  Shown& shown = shown_[with.id];
  shown.with = with;
  if (dying) {
    shown.end = Shown::End::dying;
    for (const auto& epoch : epochs_) hear_the_dead(*epoch, shown);
    if (epochs_.empty()) forget_earliest_dead();
  } else {
    give_up(with.id, shown);
    shown_.erase(with.id);
  }
}

void Installation::suspect_in_earlier(const Join& who) {
  for (std::size_t i = 0; i + 1 < epochs_.size(); ++i) {
    if (const auto rank = rank_of(epochs_[i]->view(), who)) epochs_[i]->change().suspect(*rank, "connection lost");
  }
}

void Installation::forget_earliest_dead() {
  const auto is_dead = [](const auto& each) { return each.second.end != Shown::End::none; };
  if (static_cast<std::size_t>(std::ranges::count_if(shown_, is_dead)) <= dead_max) return;
  const auto earliest = std::ranges::find_if(shown_, is_dead);
  give_up(earliest->first, earliest->second);
  shown_.erase(earliest);
}

void Installation::on_died(fabric::PeerId peer, bool complete) {
  const auto shown = shown_.find(peer);
  if (shown == shown_.end() || shown->second.end != Shown::End::dying) return;
  shown->second.end = complete ? Shown::End::dead_and_heard : Shown::End::dead;
  for (const auto& epoch : epochs_) hear_the_dead(*epoch, shown->second);
}

void Installation::give_up(fabric::PeerId peer, const Shown& shown) {
  for (const auto& [what, offer] : shown.offers) fabric_.unmap(peer, offer.region);
}

void Installation::hear_the_dead(Epoch& epoch, Shown& shown) {
  const auto rank = rank_of(epoch.view(), shown.with.who);
  if (!rank) return;
  const bool dying = shown.end == Shown::End::dying;
  epoch.change().testimonies().hear(*rank, dying ? Testimonies::Word::announced : word_of(epoch, *rank, shown));
}

// A member that has shown nothing in this view has done nothing there, if on this very connection it had shown its row of an
// earlier one: it shows its row to all that it is connected with before it does anything. A process in its first view knows
// nothing of the group before all have read each other: it takes no testimony, leads nobody, and follows who does. So one of
// which no row ever came to this member, which was there before, has never been more than that.
Testimonies::Word Installation::word_of(Epoch& epoch, Rank rank, Shown& shown) {
  const auto before =
      std::ranges::find_if(epochs_, [&](const auto& each) { return is_right_behind(each->id(), epoch.id()); });
  if (before == epochs_.end() && !epoch.change().everybody_ready()) return Testimonies::Word::untold;
  const bool offered = shown.offers.contains(What{epoch.id()});
  if (offered && !epoch.table().attached(rank)) attach(epoch, rank, shown.with, shown.offers);
  if (epoch.table().mapped(rank)) return Testimonies::Word::row;
  if (!shown.first) return Testimonies::Word::nothing;
  const bool was_silent = !offered && shown.end == Shown::End::dead_and_heard && *shown.first < epoch.id();
  return was_silent ? Testimonies::Word::nothing : Testimonies::Word::unseen;
}

Result<std::span<const std::byte>> Installation::map(const PeerConnection& from, const Offer& offer) {
  if (offer.memory.empty()) return fabric_.map(from.id, offer.region);
  return offer.memory;
}

RankSet Installation::attach(std::span<const PeerConnection> members) {
  Epoch& epoch = *present();
  RankSet attached;
  for (const PeerConnection& from : members) {
    const Rank rank = *epoch.view().rank_of(from.who.node);
    const auto shown = shown_.find(from.id);
    if (epoch.table().attached(rank) || epoch.change().suspected().contains(rank)) continue;
    if (!epoch.line(rank).offered || shown == shown_.end()) continue;
    if (!shown->second.offers.contains(What{epoch.id()})) continue;
    attach(epoch, rank, from, shown->second.offers);
    attached.add(rank);
  }
  return attached;
}

void Installation::attach(Epoch& epoch, Rank rank, const PeerConnection& from, std::map<What, Offer>& offers) {
  const Offer offer = offers.extract(What{epoch.id()}).mapped();
  const std::uint64_t needed =
      from.mappable ? epoch.table().layout(rank).shared_bytes() : epoch.table().layout(epoch.self()).bytes();
  if (offer.bytes < needed) return epoch.change().suspect(rank, "it exposed a row of the wrong size");
  epoch.line(rank).theirs = {from.id, offer.region};
  if (std::string fault = attach_beside(epoch, rank, from, offers); !fault.empty()) {
    return epoch.change().suspect(rank, std::move(fault));
  }
  if (!from.mappable) {
    epoch.table().attach_mirrored(rank, epoch.line(rank).mirror->memory, from.id, offer.region);
    return;
  }
  auto row = map(from, offer);
  if (!row) return epoch.change().suspect(rank, "its row cannot be mapped: " + row.error().to_string());
  epoch.table().attach_mapped(rank, *row);
}

// The rings of that member's messages, or its mirrors. Returns what is wrong with them, if anything is.
std::string Installation::attach_beside(Epoch& epoch, Rank rank, const PeerConnection& from,
                                        std::map<What, Offer>& offers) {
  for (std::uint32_t s = 0; s < epoch.view().subgroups.size(); ++s) {
    const SubgroupId id(s);
    for (const Part part : parts_beside) {
      if (!shows(part, epoch.view().subgroup(id), from.who.node, options_.self, from.mappable)) continue;
      const auto offered = offers.extract(What{epoch.id(), part, id});
      if (offered.empty()) return "it did not show its rings before its row";
      const Offer offer = offered.mapped();
      epoch.line(rank).beside.emplace_back(from.id, offer.region);
      std::string fault =
          part == Part::ring ? attach_ring(epoch, rank, id, from, offer) : attach_bulk(epoch, id, from, offer);
      if (!fault.empty()) return fault;
    }
  }
  return {};
}

std::string Installation::attach_ring(Epoch& epoch, Rank rank, SubgroupId id, const PeerConnection& from,
                                      const Offer& offer) {
  if (offer.bytes < epoch.view().subgroup(id).profile.ring_bytes) return "it exposed a ring of the wrong size";
  auto ring = map(from, offer);
  if (!ring) return "its ring cannot be mapped: " + ring.error().to_string();
  epoch.table().attach_ring(rank, id, *ring);
  return {};
}

std::string Installation::attach_bulk(Epoch& epoch, SubgroupId id, const PeerConnection& from, const Offer& offer) {
  const SubgroupView& subgroup = epoch.view().subgroup(id);
  const std::uint64_t needed =
      from.mappable ? subgroup.profile.bulk_ring_bytes : sst::BulkRings::mirrors_bytes(subgroup, from.who.node);
  if (offer.bytes < needed) return "it exposed bulk rings of the wrong size";
  sst::BulkRings& rings = epoch.table().bulk(id);
  if (!from.mappable) {
    rings.attach_mirrored(from.who.node, offer.region);
    return {};
  }
  auto ring = map(from, offer);
  if (!ring) return "its bulk ring cannot be mapped: " + ring.error().to_string();
  rings.attach_mapped(from.who.node, *ring);
  return {};
}

void Installation::release(Epoch& old) {
  for (const Epoch::Line& line : old.lines()) {
    if (line.theirs) fabric_.unmap(line.theirs->first, line.theirs->second);
    if (line.mirror) fabric_.release(line.mirror->key);
    for (const auto& [peer, region] : line.beside) fabric_.unmap(peer, region);
  }
  for (const Epoch::Beside& beside : old.beside()) {
    for (const auto& region : {beside.ring, beside.bulk_ring, beside.bulk_mirrors}) {
      if (region) fabric_.release(region->key);
    }
  }
  fabric_.release(old.row().key);
}

}  // namespace spindrift::views
