// Encoding and checking of messages.
#include <spindrift/views/messages.hpp>

#include <algorithm>
#include <type_traits>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/views/hello_bytes.hpp>
#include <spindrift/views/roster_bytes.hpp>

namespace spindrift::views {
namespace {

constexpr std::uint32_t magic = 0x44'4e'50'53;  // "SPND"
constexpr std::size_t reason_bytes_max = 512;

/// Writes what every message begins with.
ByteWriter begin(std::size_t kind) {
  ByteWriter writer;
  writer.put(magic, message_form, static_cast<std::uint32_t>(kind), std::uint32_t{0});
  return writer;
}

/// Ranks, and numbers of members, have a byte each in a view that members of earlier releases may be in, and two in others.
bool is_large(const View& view) { return view.members.size() > small_roster_count_max; }

void put_nodes(ByteWriter& writer, const View& view, const std::vector<NodeId>& nodes) {
  const auto put = [&writer, large = is_large(view)](std::size_t number) {
    if (large) return void(writer.put(static_cast<std::uint16_t>(number)));
    writer.put(static_cast<std::uint8_t>(number));
  };
  put(nodes.size());
  for (const NodeId node : nodes) put(view.rank_of(node)->value());
}

bool get_nodes(ByteReader& reader, const View& view, std::vector<NodeId>& nodes) {
  const auto next = [&reader, large = is_large(view)]() -> std::size_t {
    return large ? reader.get<std::uint16_t>() : reader.get<std::uint8_t>();
  };
  const std::size_t count = next();
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    const std::size_t rank = next();
    if (rank >= view.members.size()) return false;
    const NodeId node = view.members[rank];
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return false;
    nodes.push_back(node);
  }
  return reader.ok();
}

// Members and senders of one subgroup, either none of them with a reason, or some of both.
bool get_subgroup(ByteReader& reader, const View& view, SubgroupView& subgroup) {
  subgroup.members.clear();
  subgroup.senders.clear();
  const auto reason_bytes = reader.get<std::uint16_t>();
  if (reason_bytes > reason_bytes_max) return false;
  subgroup.inadequate = printable(reader.get_bytes(reason_bytes));
  if (!get_nodes(reader, view, subgroup.members) || !get_nodes(reader, view, subgroup.senders)) return false;
  for (const NodeId sender : subgroup.senders) {
    if (!subgroup.member_position(sender)) return false;
  }
  return subgroup.members.empty() == subgroup.senders.empty();
}

/// Writes the fields of a message in their order.
class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& to) : to_(to) {}

  template <class... Fields>
  void each(const Fields&... fields) {
    (one(fields), ...);
  }
  /// `more` travels between their number and the members.
  template <class Roll>
  void members(const Roll& roll, std::size_t more) {
    to_.put(static_cast<std::uint32_t>(roll.members.size()), static_cast<std::uint32_t>(more));
    for (std::size_t i = 0; i < roll.members.size(); ++i) to_.put(roll.members[i], roll.incarnations[i]);
  }
  void joins(const std::vector<Join>& joins) {
    to_.put(static_cast<std::uint32_t>(joins.size()), std::uint32_t{0});
    for (const Join& join : joins) to_.put(join.node, join.incarnation);
  }
  void roster(const Roster& roster) { put_roster(to_, roster); }
  void record(const ViewRecord& record) { put_record(to_, record); }
  void view(const std::optional<RecordedView>& view) {
    to_.put(std::uint64_t{view ? 1U : 0U});
    if (view) put_view(to_, *view);
  }
  void words(const std::vector<std::uint64_t>& words) {
    to_.put(std::uint64_t{words.size()});
    for (const std::uint64_t word : words) to_.put(word);
  }
  void changes(const std::vector<RosterChange>& changes) {
    to_.put(std::uint64_t{changes.size()});
    for (const RosterChange& each : changes) {
      to_.put(static_cast<std::uint32_t>(each.kind));
      put_address(to_, each.node, each.endpoint);
      if (each.kind == RosterChange::Kind::drop) {
        put_address(to_, NodeId(), each.subgroup.name);
      } else if (each.kind == RosterChange::Kind::resize) {
        put_sizes(to_, {&each.sizes, 1});
      } else if (each.is_of_subgroup()) {
        put(to_, each.subgroup);
      }
    }
  }
  /// At the end of a message that is not about a view in which its reader is: two words, or all if two do not suffice.
  void last_ranks(const RankSet& set) {
    const bool small = RankSet::first(small_roster_count_max).includes(set);
    put_ranks(to_, set, small ? small_roster_count_max : roster_count_max);
  }
  // At the end of a message, where there are any: between nodes without logs it is as before there were any.
  void last_logs(const std::vector<RecordedLog>& logs) {
    if (!logs.empty()) put_logs(to_, logs);
  }
  void last_known(const std::vector<KnownLog>& logs) { put_known(to_, logs); }
  void digested(std::span<const std::byte> bytes) { to_.put(digest_of(bytes).words[0]).put_bytes(bytes); }

 private:
  template <WireField Field>
  void one(const Field& field) {
    to_.put(field);
  }
  void one(const SubgroupId& id) { to_.put(std::uint64_t{id.value()}); }
  void one(const std::vector<RingSizes>& sizes) { put_sizes(to_, sizes); }
  void one(const std::string& reason) { to_.put_text(reason, reason_bytes_max); }
  void one(const std::span<const std::byte>& bytes) { to_.put_bytes(bytes); }

  ByteWriter& to_;
};

/// Takes the fields of a message in the same order, each within what it can be; else `ok` is false.
class FieldReader {
 public:
  /// `subgroups`: of the layout.
  FieldReader(ByteReader from, std::size_t subgroups) : from_(from), subgroups_(subgroups) {}

  template <class... Fields>
  void each(Fields&... fields) {
    (one(fields), ...);
  }
  /// Each of them once, as some incarnation.
  template <class Roll>
  void members(Roll& roll, std::size_t more) {
    const auto count = from_.get<std::uint32_t>();
    ok_ &= from_.get<std::uint32_t>() == more && count > 0 && count <= member_count_max;
    for (std::uint32_t i = 0; i < count && ok(); ++i) {
      const auto node = from_.get<NodeId>();
      ok_ &= std::find(roll.members.begin(), roll.members.end(), node) == roll.members.end();
      roll.members.push_back(node);
      roll.incarnations.push_back(from_.get<std::uint64_t>());
      ok_ &= roll.incarnations.back() != 0;
    }
  }
  /// Any number of them, or none; each node once, as some incarnation.
  void joins(std::vector<Join>& joins) {
    const auto count = from_.get<std::uint32_t>();
    ok_ &= from_.get<std::uint32_t>() == 0 && count <= member_count_max;
    for (std::uint32_t i = 0; i < count && ok(); ++i) {
      const auto node = from_.get<NodeId>();
      ok_ &= std::none_of(joins.begin(), joins.end(), [&](const Join& other) { return other.node == node; });
      joins.push_back({node, from_.get<std::uint64_t>()});
      ok_ &= joins.back().incarnation != 0;
    }
  }
  void roster(Roster& roster) { ok_ &= get_roster(from_, roster); }
  void record(ViewRecord& record) { ok_ &= get_record(from_, record); }
  void view(std::optional<RecordedView>& view) {
    const auto there = from_.get<std::uint64_t>();
    ok_ &= there <= 1;
    if (ok_ && there == 1) ok_ &= get_view(from_, view.emplace());
  }
  void words(std::vector<std::uint64_t>& words) {
    const auto count = from_.get<std::uint64_t>();
    ok_ &= count <= member_count_max;
    for (std::uint64_t i = 0; i < count && ok(); ++i) words.push_back(from_.get<std::uint64_t>());
  }
  void changes(std::vector<RosterChange>& changes) {
    const auto count = from_.get<std::uint64_t>();
    ok_ &= count > 0 && count <= roster_changes_max;
    for (std::uint64_t i = 0; i < count && ok(); ++i) {
      RosterChange& next = changes.emplace_back();
      const auto kind = from_.get<std::uint32_t>();
      ok_ &= kind <= static_cast<std::uint32_t>(RosterChange::Kind::resize);
      if (ok_) next.kind = static_cast<RosterChange::Kind>(kind);
      ok_ &= get_address(from_, next.node, next.endpoint);
      ok_ &= next.has_endpoint() || next.endpoint.empty();
      if (next.is_of_subgroup()) of_subgroup(next);
    }
  }
  void last_ranks(RankSet& set) {
    const std::size_t bytes = from_.rest().size();
    set = get_ranks(from_, bytes == small_roster_count_max / 8 ? small_roster_count_max : roster_count_max);
    ok_ &= bytes == small_roster_count_max / 8 || !RankSet::first(small_roster_count_max).includes(set);
  }
  void last_logs(std::vector<RecordedLog>& logs) {
    if (!from_.rest().empty()) ok_ &= get_logs(from_, logs) && !logs.empty();
  }
  void last_known(std::vector<KnownLog>& logs) { ok_ &= get_known(from_, logs); }
  void digested(std::span<const std::byte>& bytes) {
    const auto digest = from_.get<std::uint64_t>();
    one(bytes);
    ok_ &= digest_of(bytes).words[0] == digest;
  }
  [[nodiscard]] ByteReader& rest() noexcept { return from_; }
  [[nodiscard]] bool ok() const noexcept { return ok_ && from_.ok(); }
  [[nodiscard]] bool complete() const noexcept { return ok_ && from_.complete(); }

 private:
  void of_subgroup(RosterChange& change) {
    ok_ &= change.node == NodeId();
    if (change.kind == RosterChange::Kind::resize) return resized(change.sizes);
    NodeId nobody;
    if (change.kind == RosterChange::Kind::drop) {
      ok_ &= get_address(from_, nobody, change.subgroup.name);
    } else {
      subgroup(change.subgroup);
    }
    ok_ &= nobody == NodeId() && valid_subgroup_name(change.subgroup.name);
  }
  void resized(RingSizes& sizes) {
    std::vector<RingSizes> one;
    ok_ &= get_sizes(from_, one) && one.size() == 1;
    if (ok_) sizes = std::move(one.front());
  }
  void subgroup(AddedSubgroup& subgroup) {
    if (auto taken = get_added_subgroup(from_)) {
      subgroup = *std::move(taken);
    } else {
      ok_ = false;
    }
  }
  template <WireField Field>
  void one(Field& field) {
    field = from_.get<Field>();
  }
  void one(std::vector<RingSizes>& sizes) { ok_ &= get_sizes(from_, sizes); }
  void one(SubgroupId& id) {
    const auto value = from_.get<std::uint64_t>();
    ok_ &= value < subgroups_ + added_place_count_max;
    id = SubgroupId(static_cast<std::uint32_t>(value));
  }
  void one(std::string& reason) {
    std::span<const std::byte> text;
    one(text);
    ok_ &= !text.empty() && text.size() <= reason_bytes_max;
    reason = printable(text);
  }
  void one(std::span<const std::byte>& bytes) { bytes = from_.get_bytes(from_.rest().size()); }

  ByteReader from_;
  std::size_t subgroups_;
  bool ok_ = true;
};

// The fields of each message that travel: said once, for both directions.
template <class T, class M>
concept Const = std::is_same_v<std::remove_const_t<T>, M>;
template <class T>
concept Reasoned = Const<T, Refusal> || Const<T, Removed> || Const<T, Stopped>;
template <class T>
concept OfView = Const<T, RowNotice> || Const<T, Settled>;
template <class T>
concept OfSubgroup = Const<T, BulkNotice> || Const<T, RingNotice> || Const<T, Concluding>;

void fields(auto& with, Reasoned auto& message) { with.each(message.reason); }
void fields(auto& with, OfView auto& message) { with.each(message.view); }
void fields(auto& with, OfSubgroup auto& notice) { with.each(notice.view, notice.subgroup); }
void fields(auto& with, Const<LinkedCandidates> auto& word) { with.joins(word.candidates); }
void fields(auto& with, Const<StateAck> auto& ack) { with.each(ack.view, ack.subgroup, ack.offset); }
void fields(auto& with, Const<StatePiece> auto& piece) {
  with.each(piece.view, piece.subgroup, piece.offset, piece.state_bytes, piece.total_bytes);
  with.digested(piece.bytes);
}
void fields(auto& with, Const<LogRequest> auto& request) {
  with.each(request.view, request.subgroup, request.end.version, request.end.link.words);
}
void fields(auto& with, Const<OwnLogs> auto& said) {
  with.each(said.view, said.since);
  with.last_known(said.logs);
}
void fields(auto& with, Const<PrivateMessage> auto& message) { with.each(message.bytes); }
void fields(auto& with, Const<MessagePart> auto& part) { with.each(part.left, part.bytes); }
void fields(auto& with, Const<Promise> auto& promise) { with.each(promise.ballot, promise.founder); }
void fields(auto& with, Const<PromiseRequest> auto& request) {
  with.each(request.ballot, request.view);
  with.members(request, 0);
  with.words(request.basis);
  with.roster(request.roster);
  with.last_logs(request.logs);
}
void fields(auto& with, Const<Remembered> auto& said) {
  with.record(said.own);
  with.view(said.beside);
  with.last_known(said.logs);
}
void fields(auto& with, Const<RosterRequest> auto& request) { with.changes(request.changes); }
void fields(auto& with, Const<RosterProposal> auto& proposal) {
  with.each(proposal.view);
  with.roster(proposal.roster);
}
void fields(auto& with, Const<FileSizes> auto& file) { with.each(file.view, file.sizes); }
void fields(auto& with, Const<ReviveRequest> auto& request) {
  with.each(request.view, request.revival.attempt);
  with.last_ranks(request.revival.members);
}
void fields(auto& with, Const<RosterHeld> auto& held) { with.each(held.view, held.roster); }
void fields(auto& with, Const<RosterNotice> auto& notice) { with.roster(notice.roster); }
void fields(auto&, Const<Drained> auto&) {}

// Ballots end one below the largest: so there is always a higher one.
bool is_ballot(std::uint64_t ballot) { return ballot != 0 && ballot + 1 != 0; }

/// Whether fields that are possible each are so together.
bool plausible(const auto&) { return true; }
bool plausible(const MessagePart& part) { return !part.bytes.empty() && part.left <= parted_message_bytes_max; }
bool plausible(const Promise& promise) { return is_ballot(promise.ballot) && promise.founder != 0; }
bool plausible(const PromiseRequest& request) {
  return is_ballot(request.ballot) && (request.basis.empty() || request.basis.size() == request.members.size());
}
bool plausible(const OwnLogs& said) { return said.since != 0; }
bool plausible(const RosterProposal& proposal) { return !proposal.roster.nodes.empty(); }
bool plausible(const ReviveRequest& request) {
  const Revival& revival = request.revival;
  return revival.attempt > 0 && revival.attempt <= revivals_max && !revival.members.empty();
}
bool plausible(const RosterNotice& notice) { return !notice.roster.nodes.empty(); }
bool plausible(const StatePiece& piece) {
  return piece.state_bytes <= piece.total_bytes && piece.offset <= piece.total_bytes &&
         piece.bytes.size() <= piece.total_bytes - piece.offset && (!piece.bytes.empty() || piece.total_bytes == 0);
}

std::optional<Message> decode_view(FieldReader fields, const std::vector<SubgroupView>& shapes) {
  ViewNotice notice;
  View& view = notice.view;
  fields.each(view.id);
  fields.members(view, shapes.size());
  fields.roster(view.roster);
  const auto may_be_in = [&view](NodeId node) { return view.roster.admits(node); };
  if (!fields.ok() || !std::ranges::all_of(view.members, may_be_in)) return std::nullopt;
  view.subgroups = shapes;
  if (!view.roster.sizes.empty() && !fit(view.roster.sizes, shapes)) return std::nullopt;
  set_ring_sizes(view.subgroups, view.roster.sizes);
  for (const AddedSubgroup& each : view.roster.added) view.subgroups.push_back(in_view(each, {}, nullptr));
  const RankSet everybody = RankSet::first(view.members.size());
  ByteReader& reader = fields.rest();
  notice.newcomers = get_ranks(reader, view.members.size());
  if (!everybody.includes(notice.newcomers)) return std::nullopt;
  for (SubgroupView& subgroup : view.subgroups) {
    notice.loaded.push_back(get_ranks(reader, view.members.size()));
    const auto lost = reader.get<std::uint8_t>();
    if (lost > 1) return std::nullopt;
    if (lost == 1) notice.state_lost.emplace_back(static_cast<std::uint32_t>(notice.loaded.size() - 1));
    if (!everybody.includes(notice.loaded.back()) || !get_subgroup(reader, view, subgroup)) return std::nullopt;
    if (subgroup.storage == SubgroupStorage::logged && !get_holders(reader, subgroup.log_holders)) return std::nullopt;
    if (subgroup.dropped && (lost == 1 || !notice.loaded.back().empty() || !subgroup.members.empty())) return std::nullopt;
    const auto loaded = [&](NodeId node) { return notice.loaded.back().contains(*view.rank_of(node)); };
    if (!subgroup.members.empty() && std::none_of(subgroup.members.begin(), subgroup.members.end(), loaded))
      return std::nullopt;
  }
  if (!fields.complete()) return std::nullopt;
  return notice;
}

void put_view(ByteWriter& writer, const ViewNotice& notice) {
  const View& view = notice.view;
  FieldWriter fields(writer);
  fields.each(view.id);
  fields.members(view, view.layout_count());
  fields.roster(view.roster);
  put_ranks(writer, notice.newcomers, view.members.size());
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    put_ranks(writer, notice.loaded[s], view.members.size());
    writer.put(static_cast<std::uint8_t>(std::count(notice.state_lost.begin(), notice.state_lost.end(), SubgroupId(s))));
    writer.put(static_cast<std::uint16_t>(std::min(subgroup.inadequate.size(), reason_bytes_max)));
    writer.put_text(subgroup.inadequate, reason_bytes_max);
    put_nodes(writer, view, subgroup.members);
    put_nodes(writer, view, subgroup.senders);
    if (subgroup.storage != SubgroupStorage::logged) continue;
    put_holders(writer, subgroup.log_holders);
  }
}

template <std::size_t kind>
std::optional<Message> decode_as(ByteReader reader, const GroupIdentity& ours, const std::vector<SubgroupView>& shapes,
                                 const Hearer& hearer) {
  using Kind = std::variant_alternative_t<kind, Message>;
  if constexpr (std::is_same_v<Kind, Hello>) {
    return get_hello(reader, ours, hearer);
  } else if constexpr (std::is_same_v<Kind, ViewNotice>) {
    return decode_view({reader, shapes.size()}, shapes);
  } else if constexpr (!std::is_same_v<Kind, Mismatch>) {
    Kind message;
    FieldReader with(reader, shapes.size());
    fields(with, message);
    if (with.complete() && plausible(message)) return message;
  }
  return std::nullopt;
}

using DecodeKind = std::optional<Message> (*)(ByteReader, const GroupIdentity&, const std::vector<SubgroupView>&,
                                              const Hearer&);
template <std::size_t... kinds>
constexpr std::array<DecodeKind, sizeof...(kinds)> decoders_of(std::index_sequence<kinds...>) {
  return {decode_as<kinds>...};
}
constexpr auto decoders = decoders_of(std::make_index_sequence<std::variant_size_v<Message>>());

}  // namespace

std::vector<std::byte> encode(const GroupIdentity& identity, const Hello& hello, NodeId to, const ConnectionWords& words) {
  ByteWriter writer = begin(Message(hello).index());
  put_hello(writer, identity, hello, to, words);
  return writer.take();
}

std::vector<std::byte> encode(const Message& message) {
  ByteWriter writer = begin(message.index());
  const auto put = [&]<class Kind>(const Kind& one) {
    if constexpr (std::is_same_v<Kind, ViewNotice>) {
      put_view(writer, one);
    } else if constexpr (std::is_same_v<Kind, Hello> || std::is_same_v<Kind, Mismatch>) {
      CHECK(false);
    } else {
      FieldWriter with(writer);
      fields(with, one);
    }
  };
  std::visit(put, message);
  return writer.take();
}

std::optional<Message> decode(std::span<const std::byte> bytes, const GroupIdentity& ours,
                              const std::vector<SubgroupView>& shapes, NodeId self, const ConnectionWords& words) {
  ByteReader reader(bytes);
  const auto first = reader.get<std::uint32_t>();
  const auto version = reader.get<std::uint32_t>();
  const auto kind = reader.get<std::uint32_t>();
  const auto reserved = reader.get<std::uint32_t>();
  if (!reader.ok() || first != magic) return std::nullopt;
  if (version != message_form) return no_common_version(ours, "version " + std::to_string(version));
  if (reserved != 0) return std::nullopt;
  return kind < decoders.size() ? decoders[kind](reader, ours, shapes, {self, words}) : std::nullopt;
}

}  // namespace spindrift::views
