// Encoding and checking of messages.
#include <spindrift/views/messages.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

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

class Writer {
 public:
  explicit Writer(Kind kind) {
    put(magic);
    put(protocol_version);
    put(static_cast<std::uint32_t>(kind));
    put(std::uint32_t{0});
  }
  template <class Number>
  requires std::is_integral_v<Number>
  void put(Number number) { put(std::as_bytes(std::span(&number, 1))); }
  void put(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void put(const RankSet& set) {
    for (std::uint32_t half = 0; half < RankSet::words; ++half) put(set.word(half));
  }
  void put_text(std::string_view text, std::size_t most) {
    put(std::as_bytes(std::span(text.substr(0, std::min(text.size(), most)))));
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads on after the end give zeros, and `ok` says no.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class Number>
  Number get() {
    Number number{};
    if (bytes_.size() < sizeof number) {
      ok_ = false;
      bytes_ = {};
      return number;
    }
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_ = bytes_.subspan(sizeof number);
    return number;
  }
  RankSet get_set() {
    const auto low = get<std::uint64_t>();
    return {low, get<std::uint64_t>()};
  }
  std::span<const std::byte> get_bytes(std::size_t count) {
    if (bytes_.size() < count) {
      ok_ = false;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return bytes_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool complete() const noexcept { return ok_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

// A peer's words go to logs and terminals: nothing unprintable passes.
std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char letter = static_cast<char>(byte);
    text += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return text;
}

std::optional<std::string> decode_reason(std::span<const std::byte> body) {
  if (body.empty() || body.size() > reason_bytes_max) return std::nullopt;
  return printable(body);
}

Message mismatch(std::string what, std::string fix) {
  return Mismatch{Error(ErrorKind::refused, std::move(what)).fix(std::move(fix))};
}

std::optional<Message> decode_hello(Reader reader, const GroupIdentity& ours) {
  Hello hello;
  hello.node = NodeId(reader.get<std::uint32_t>());
  const auto fresh = reader.get<std::uint32_t>();
  hello.fresh = fresh == 1;
  hello.incarnation = reader.get<std::uint64_t>();
  hello.view = ViewId(reader.get<std::uint64_t>());
  const std::array<std::uint64_t, 2> digest{reader.get<std::uint64_t>(), reader.get<std::uint64_t>()};
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

void put_nodes(Writer& writer, const View& view, const std::vector<NodeId>& nodes) {
  writer.put(static_cast<std::uint8_t>(nodes.size()));
  for (const NodeId node : nodes) writer.put(static_cast<std::uint8_t>(view.rank_of(node)->value()));
}

bool get_nodes(Reader& reader, const View& view, std::vector<NodeId>& nodes) {
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
bool get_subgroup(Reader& reader, const View& view, SubgroupView& subgroup) {
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
void put_members(Writer& writer, const Roll& roll) {
  for (std::size_t i = 0; i < roll.members.size(); ++i) {
    writer.put(roll.members[i].value());
    writer.put(roll.incarnations[i]);
  }
}

// Each of them once, as some incarnation.
template <class Roll>
bool get_members(Reader& reader, std::uint32_t count, Roll& roll) {
  if (count == 0 || count > member_count_max) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const NodeId node(reader.get<std::uint32_t>());
    const auto incarnation = reader.get<std::uint64_t>();
    const bool twice = std::find(roll.members.begin(), roll.members.end(), node) != roll.members.end();
    if (!reader.ok() || twice || incarnation == 0) return false;
    roll.members.push_back(node);
    roll.incarnations.push_back(incarnation);
  }
  return true;
}

std::optional<Message> decode_view(Reader reader, const std::vector<SubgroupView>& shapes) {
  ViewNotice notice;
  View& view = notice.view;
  view.id = ViewId(reader.get<std::uint64_t>());
  const auto members = reader.get<std::uint32_t>();
  if (reader.get<std::uint32_t>() != shapes.size() || !get_members(reader, members, view)) return std::nullopt;
  view.subgroups = shapes;
  const RankSet everybody = RankSet::first(members);
  for (SubgroupView& subgroup : view.subgroups) {
    notice.loaded.push_back(reader.get_set());
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

std::optional<Message> decode_founding(Reader reader) {
  Founding founding;
  founding.ballot = reader.get<std::uint64_t>();
  const auto members = reader.get<std::uint32_t>();
  const auto reserved = reader.get<std::uint32_t>();
  if (!is_ballot(founding.ballot) || reserved != 0 || !get_members(reader, members, founding) || !reader.complete())
    return std::nullopt;
  return founding;
}

std::optional<Message> decode_promise(Reader reader) {
  const auto ballot = reader.get<std::uint64_t>();
  const auto founder = reader.get<std::uint64_t>();
  if (!reader.complete() || !is_ballot(ballot) || founder == 0) return std::nullopt;
  return Promise{ballot, founder};
}

std::optional<Message> decode_piece(Reader reader, std::size_t subgroups) {
  StatePiece piece;
  piece.view = ViewId(reader.get<std::uint64_t>());
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

std::optional<Message> decode_ack(Reader reader, std::size_t subgroups) {
  const ViewId view(reader.get<std::uint64_t>());
  const auto subgroup = reader.get<std::uint64_t>();
  const auto offset = reader.get<std::uint64_t>();
  if (!reader.complete() || subgroup >= subgroups) return std::nullopt;
  return StateAck{view, SubgroupId(static_cast<std::uint32_t>(subgroup)), offset};
}

std::optional<Message> decode_bulk(Reader reader, std::size_t subgroups) {
  const ViewId view(reader.get<std::uint64_t>());
  const auto subgroup = reader.get<std::uint64_t>();
  if (!reader.complete() || subgroup >= subgroups) return std::nullopt;
  return BulkNotice{view, SubgroupId(static_cast<std::uint32_t>(subgroup))};
}

}  // namespace

std::vector<std::byte> encode(const GroupIdentity& identity, const Hello& hello) {
  Writer writer(Kind::hello);
  writer.put(hello.node.value());
  writer.put(std::uint32_t{hello.fresh ? 1U : 0U});
  writer.put(hello.incarnation);
  writer.put(hello.view.value());
  for (const std::uint64_t word : identity.config_digest) writer.put(word);
  std::array<char, group_name_bytes> name{};
  std::copy_n(identity.group_name.begin(), std::min(identity.group_name.size(), group_name_bytes), name.begin());
  writer.put(std::as_bytes(std::span(name)));
  return writer.take();
}

std::vector<std::byte> encode(const Refusal& refusal) {
  Writer writer(Kind::refusal);
  writer.put_text(refusal.reason, reason_bytes_max);
  return writer.take();
}

std::vector<std::byte> encode(const Removed& removed) {
  Writer writer(Kind::removed);
  writer.put_text(removed.reason, reason_bytes_max);
  return writer.take();
}

std::vector<std::byte> encode(const Stopped& stopped) {
  Writer writer(Kind::stopped);
  writer.put_text(stopped.reason, reason_bytes_max);
  return writer.take();
}

std::vector<std::byte> encode(const ViewNotice& notice) {
  const View& view = notice.view;
  Writer writer(Kind::view);
  writer.put(view.id.value());
  writer.put(static_cast<std::uint32_t>(view.members.size()));
  writer.put(static_cast<std::uint32_t>(view.subgroups.size()));
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

std::vector<std::byte> encode(const RowNotice& notice) {
  Writer writer(Kind::row);
  writer.put(notice.view.value());
  return writer.take();
}

std::vector<std::byte> encode(const BulkNotice& notice) {
  Writer writer(Kind::bulk);
  writer.put(notice.view.value());
  writer.put(std::uint64_t{notice.subgroup.value()});
  return writer.take();
}

std::vector<std::byte> encode(const StatePiece& piece) {
  Writer writer(Kind::state_piece);
  writer.put(piece.view.value());
  writer.put(std::uint64_t{piece.subgroup.value()});
  writer.put(piece.offset);
  writer.put(piece.state_bytes);
  writer.put(piece.total_bytes);
  writer.put(digest_of(piece.bytes).words[0]);
  writer.put(piece.bytes);
  return writer.take();
}

std::vector<std::byte> encode(const StateAck& ack) {
  Writer writer(Kind::state_ack);
  writer.put(ack.view.value());
  writer.put(std::uint64_t{ack.subgroup.value()});
  writer.put(ack.offset);
  return writer.take();
}

std::vector<std::byte> encode(const PrivateMessage& message) {
  Writer writer(Kind::private_message);
  writer.put(message.bytes);
  return writer.take();
}

std::vector<std::byte> encode(const Part& part) {
  Writer writer(Kind::part);
  writer.put(part.left);
  writer.put(part.bytes);
  return writer.take();
}

std::vector<std::byte> encode(const Founding& founding) {
  Writer writer(Kind::founding);
  writer.put(founding.ballot);
  writer.put(static_cast<std::uint32_t>(founding.members.size()));
  writer.put(std::uint32_t{0});
  put_members(writer, founding);
  return writer.take();
}

std::vector<std::byte> encode(const Promise& promise) {
  Writer writer(Kind::promise);
  writer.put(promise.ballot);
  writer.put(promise.founder);
  return writer.take();
}

std::vector<std::byte> encode(const Settled& settled) {
  Writer writer(Kind::settled);
  writer.put(settled.view.value());
  return writer.take();
}

std::optional<Message> decode(std::span<const std::byte> bytes, const GroupIdentity& ours,
                              const std::vector<SubgroupView>& shapes) {
  Reader reader(bytes);
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
    case Kind::refusal:
      if (auto reason = decode_reason(reader.rest())) return Refusal{std::move(*reason)};
      return std::nullopt;
    case Kind::removed:
      if (auto reason = decode_reason(reader.rest())) return Removed{std::move(*reason)};
      return std::nullopt;
    case Kind::stopped:
      if (auto reason = decode_reason(reader.rest())) return Stopped{std::move(*reason)};
      return std::nullopt;
    case Kind::view: return decode_view(reader, shapes);
    case Kind::row: {
      const ViewId view(reader.get<std::uint64_t>());
      if (!reader.complete()) return std::nullopt;
      return RowNotice{view};
    }
    case Kind::bulk: return decode_bulk(reader, shapes.size());
    case Kind::state_piece: return decode_piece(reader, shapes.size());
    case Kind::state_ack: return decode_ack(reader, shapes.size());
    case Kind::private_message: return PrivateMessage{reader.rest()};
    case Kind::part: {
      const auto left = reader.get<std::uint64_t>();
      if (!reader.ok() || reader.rest().empty() || left > parted_message_bytes_max) return std::nullopt;
      return Part{left, reader.rest()};
    }
    case Kind::founding: return decode_founding(reader);
    case Kind::promise: return decode_promise(reader);
    case Kind::settled: {
      const ViewId view(reader.get<std::uint64_t>());
      if (!reader.complete()) return std::nullopt;
      return Settled{view};
    }
  }
  return std::nullopt;
}

}  // namespace spindrift::views
