// Encoding and checking of messages.
#include <spindrift/views/messages.hpp>

#include <algorithm>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/digest.hpp>

namespace spindrift::views {
namespace {

constexpr std::uint32_t magic = 0x44'4e'50'53;  // "SPND"
constexpr std::size_t reason_bytes_max = 512;
constexpr std::size_t group_name_bytes = 32;

enum class Kind : std::uint32_t {
  hello = 1,
  refusal,
  removed,
  view,
  row,
  state_piece,
  state_ack,
  private_message,
  stopped,
  part,
  founding,
  promise,
  settled,
  bulk,
};

/// What every message begins with.
ByteWriter begin(Kind kind) {
  ByteWriter writer;
  writer.put(magic, protocol_version, static_cast<std::uint32_t>(kind), std::uint32_t{0});
  return writer;
}

std::vector<std::byte> encode_reason(Kind kind, const std::string& reason) {
  return begin(kind).put_text(reason, reason_bytes_max).take();
}

template <class Reasoned>
std::optional<Message> decode_reason(std::span<const std::byte> body) {
  if (body.empty() || body.size() > reason_bytes_max) return std::nullopt;
  return Reasoned{printable(body)};
}

/// Of a notice that says nothing but a view.
template <class Notice>
std::optional<Message> decode_view_id(ByteReader reader) {
  const auto view = reader.get<ViewId>();
  if (!reader.complete()) return std::nullopt;
  return Notice{view};
}

std::optional<Message> decode_part(ByteReader reader) {
  const auto left = reader.get<std::uint64_t>();
  if (!reader.ok() || reader.rest().empty() || left > parted_message_bytes_max) return std::nullopt;
  return Part{left, reader.rest()};
}

Message mismatch(std::string what, std::string fix) {
  return Mismatch{Error(ErrorKind::refused, std::move(what)).fix(std::move(fix))};
}

std::optional<Message> decode_hello(ByteReader reader, const GroupIdentity& ours) {
  Hello hello;
  hello.node = reader.get<NodeId>();
  const auto fresh = reader.get<std::uint32_t>();
  hello.fresh = fresh == 1;
  hello.incarnation = reader.get<std::uint64_t>();
  hello.view = reader.get<ViewId>();
  const auto digest = reader.get<std::array<std::uint64_t, 2>>();
  const auto raw = reader.get_bytes(group_name_bytes);
  if (!reader.complete() || fresh > 1 || hello.incarnation == 0) return std::nullopt;
  const auto end = std::find(raw.begin(), raw.end(), std::byte{0});
  if (std::any_of(end, raw.end(), [](std::byte byte) { return byte != std::byte{0}; })) return std::nullopt;
  const std::string name = printable(raw.first(static_cast<std::size_t>(end - raw.begin())));

  if (name != ours.group_name) {
    return mismatch("group names differ: \"" + ours.group_name + "\" and \"" + name + "\"",
                    "give both nodes the same [SPINDRIFT] group_name");
  }
  if (digest != ours.config_digest) {
    return mismatch("configurations differ in what the whole group must share",
                    "compare `spindrift config show --effective` of both nodes: layout, members and profiles must be equal");
  }
  return hello;
}

void put_nodes(ByteWriter& writer, const View& view, const std::vector<NodeId>& nodes) {
  writer.put(static_cast<std::uint8_t>(nodes.size()));
  for (const NodeId node : nodes) writer.put(static_cast<std::uint8_t>(view.rank_of(node)->value()));
}

bool get_nodes(ByteReader& reader, const View& view, std::vector<NodeId>& nodes) {
  const auto count = reader.get<std::uint8_t>();
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    const auto rank = reader.get<std::uint8_t>();
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

template <class Roll>
void put_members(ByteWriter& writer, const Roll& roll) {
  for (std::size_t i = 0; i < roll.members.size(); ++i) writer.put(roll.members[i], roll.incarnations[i]);
}

// Each of them once, as some incarnation.
template <class Roll>
bool get_members(ByteReader& reader, std::uint32_t count, Roll& roll) {
  if (count == 0 || count > member_count_max) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto node = reader.get<NodeId>();
    const auto incarnation = reader.get<std::uint64_t>();
    const bool twice = std::find(roll.members.begin(), roll.members.end(), node) != roll.members.end();
    if (!reader.ok() || twice || incarnation == 0) return false;
    roll.members.push_back(node);
    roll.incarnations.push_back(incarnation);
  }
  return true;
}

std::optional<Message> decode_view(ByteReader reader, const std::vector<SubgroupView>& shapes) {
  ViewNotice notice;
  View& view = notice.view;
  view.id = reader.get<ViewId>();
  const auto members = reader.get<std::uint32_t>();
  if (reader.get<std::uint32_t>() != shapes.size() || !get_members(reader, members, view)) return std::nullopt;
  view.subgroups = shapes;
  const RankSet everybody = RankSet::first(members);
  for (SubgroupView& subgroup : view.subgroups) {
    notice.loaded.push_back(reader.get<RankSet>());
    const auto lost = reader.get<std::uint8_t>();
    if (lost > 1) return std::nullopt;
    if (lost == 1) notice.state_lost.emplace_back(static_cast<std::uint32_t>(notice.loaded.size() - 1));
    if (!everybody.includes(notice.loaded.back()) || !get_subgroup(reader, view, subgroup)) return std::nullopt;
    const auto loaded = [&](NodeId node) { return notice.loaded.back().contains(*view.rank_of(node)); };
    if (!subgroup.members.empty() && std::none_of(subgroup.members.begin(), subgroup.members.end(), loaded))
      return std::nullopt;
  }
  if (!reader.complete()) return std::nullopt;
  return notice;
}

// Ballots end one below the largest: so there is always a higher one.
bool is_ballot(std::uint64_t ballot) { return ballot != 0 && ballot + 1 != 0; }

std::optional<Message> decode_founding(ByteReader reader) {
  PromiseRequest founding;
  founding.ballot = reader.get<std::uint64_t>();
  const auto members = reader.get<std::uint32_t>();
  const auto reserved = reader.get<std::uint32_t>();
  if (!is_ballot(founding.ballot) || reserved != 0 || !get_members(reader, members, founding) || !reader.complete())
    return std::nullopt;
  return founding;
}

std::optional<Message> decode_promise(ByteReader reader) {
  const auto ballot = reader.get<std::uint64_t>();
  const auto founder = reader.get<std::uint64_t>();
  if (!reader.complete() || !is_ballot(ballot) || founder == 0) return std::nullopt;
  return Promise{ballot, founder};
}

std::optional<Message> decode_piece(ByteReader reader, std::size_t subgroups) {
  StatePiece piece;
  piece.view = reader.get<ViewId>();
  const auto subgroup = reader.get<std::uint64_t>();
  piece.offset = reader.get<std::uint64_t>();
  piece.state_bytes = reader.get<std::uint64_t>();
  piece.total_bytes = reader.get<std::uint64_t>();
  const auto digest = reader.get<std::uint64_t>();
  piece.bytes = reader.rest();
  if (!reader.ok() || digest_of(piece.bytes).words[0] != digest || subgroup >= subgroups ||
      piece.state_bytes > piece.total_bytes || piece.offset > piece.total_bytes ||
      piece.bytes.size() > piece.total_bytes - piece.offset || (piece.bytes.empty() && piece.total_bytes > 0)) {
    return std::nullopt;
  }
  piece.subgroup = SubgroupId(static_cast<std::uint32_t>(subgroup));
  return piece;
}

std::optional<Message> decode_ack(ByteReader reader, std::size_t subgroups) {
  const auto view = reader.get<ViewId>();
  const auto subgroup = reader.get<std::uint64_t>();
  const auto offset = reader.get<std::uint64_t>();
  if (!reader.complete() || subgroup >= subgroups) return std::nullopt;
  return StateAck{view, SubgroupId(static_cast<std::uint32_t>(subgroup)), offset};
}

std::optional<Message> decode_bulk(ByteReader reader, std::size_t subgroups) {
  const auto view = reader.get<ViewId>();
  const auto subgroup = reader.get<std::uint64_t>();
  if (!reader.complete() || subgroup >= subgroups) return std::nullopt;
  return BulkNotice{view, SubgroupId(static_cast<std::uint32_t>(subgroup))};
}

}  // namespace

std::vector<std::byte> encode(const GroupIdentity& identity, const Hello& hello) {
  std::array<char, group_name_bytes> name{};
  std::copy_n(identity.group_name.begin(), std::min(identity.group_name.size(), group_name_bytes), name.begin());
  return begin(Kind::hello)
      .put(hello.node, std::uint32_t{hello.fresh ? 1U : 0U}, hello.incarnation, hello.view, identity.config_digest, name)
      .take();
}

std::vector<std::byte> encode(const Refusal& refusal) { return encode_reason(Kind::refusal, refusal.reason); }
std::vector<std::byte> encode(const Removed& removed) { return encode_reason(Kind::removed, removed.reason); }
std::vector<std::byte> encode(const Stopped& stopped) { return encode_reason(Kind::stopped, stopped.reason); }

std::vector<std::byte> encode(const ViewNotice& notice) {
  const View& view = notice.view;
  ByteWriter writer = begin(Kind::view);
  writer.put(view.id, static_cast<std::uint32_t>(view.members.size()), static_cast<std::uint32_t>(view.subgroups.size()));
  put_members(writer, view);
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    writer.put(notice.loaded[s]);
    writer.put(static_cast<std::uint8_t>(std::count(notice.state_lost.begin(), notice.state_lost.end(), SubgroupId(s))));
    writer.put(static_cast<std::uint16_t>(std::min(subgroup.inadequate.size(), reason_bytes_max)));
    writer.put_text(subgroup.inadequate, reason_bytes_max);
    put_nodes(writer, view, subgroup.members);
    put_nodes(writer, view, subgroup.senders);
  }
  return writer.take();
}

std::vector<std::byte> encode(const RowNotice& notice) { return begin(Kind::row).put(notice.view).take(); }

std::vector<std::byte> encode(const BulkNotice& notice) {
  return begin(Kind::bulk).put(notice.view, std::uint64_t{notice.subgroup.value()}).take();
}

std::vector<std::byte> encode(const StatePiece& piece) {
  return begin(Kind::state_piece)
      .put(piece.view, std::uint64_t{piece.subgroup.value()}, piece.offset, piece.state_bytes, piece.total_bytes)
      .put(digest_of(piece.bytes).words[0])
      .put_bytes(piece.bytes)
      .take();
}

std::vector<std::byte> encode(const StateAck& ack) {
  return begin(Kind::state_ack).put(ack.view, std::uint64_t{ack.subgroup.value()}, ack.offset).take();
}

std::vector<std::byte> encode(const PrivateMessage& message) {
  return begin(Kind::private_message).put_bytes(message.bytes).take();
}

std::vector<std::byte> encode(const Part& part) { return begin(Kind::part).put(part.left).put_bytes(part.bytes).take(); }

std::vector<std::byte> encode(const PromiseRequest& request) {
  ByteWriter writer = begin(Kind::founding);
  writer.put(request.ballot, static_cast<std::uint32_t>(request.members.size()), std::uint32_t{0});
  put_members(writer, request);
  return writer.take();
}

std::vector<std::byte> encode(const Promise& promise) {
  return begin(Kind::promise).put(promise.ballot, promise.founder).take();
}

std::vector<std::byte> encode(const Settled& settled) { return begin(Kind::settled).put(settled.view).take(); }

std::optional<Message> decode(std::span<const std::byte> bytes, const GroupIdentity& ours,
                              const std::vector<SubgroupView>& shapes) {
  ByteReader reader(bytes);
  const auto first = reader.get<std::uint32_t>();
  const auto version = reader.get<std::uint32_t>();
  const auto kind = reader.get<std::uint32_t>();
  const auto reserved = reader.get<std::uint32_t>();
  if (!reader.ok() || first != magic) return std::nullopt;
  if (version != protocol_version) {
    return mismatch("protocol versions differ: " + std::to_string(protocol_version) + " and " + std::to_string(version),
                    "run the same release of spindrift on all nodes");
  }
  if (reserved != 0) return std::nullopt;

  switch (static_cast<Kind>(kind)) {
    case Kind::hello: return decode_hello(reader, ours);
    case Kind::refusal: return decode_reason<Refusal>(reader.rest());
    case Kind::removed: return decode_reason<Removed>(reader.rest());
    case Kind::stopped: return decode_reason<Stopped>(reader.rest());
    case Kind::view: return decode_view(reader, shapes);
    case Kind::row: return decode_view_id<RowNotice>(reader);
    case Kind::bulk: return decode_bulk(reader, shapes.size());
    case Kind::state_piece: return decode_piece(reader, shapes.size());
    case Kind::state_ack: return decode_ack(reader, shapes.size());
    case Kind::private_message: return PrivateMessage{reader.rest()};
    case Kind::part: return decode_part(reader);
    case Kind::founding: return decode_founding(reader);
    case Kind::promise: return decode_promise(reader);
    case Kind::settled: return decode_view_id<Settled>(reader);
  }
  return std::nullopt;
}

}  // namespace spindrift::views
