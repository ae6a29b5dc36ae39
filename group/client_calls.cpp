// Answers for clients, from what the table says.
#include <spindrift/group/client_calls.hpp>

#include <exception>
#include <random>

#include <spindrift/core/bytes.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::replicated {
namespace {

template <WireField Words>
Words take_whole(std::span<const std::byte> from) {
  const auto words = field_at_front<Words>(from);
  if (!words || from.size() != sizeof *words) throw BadBytes("it says nothing of a session, or too much");
  return *words;
}

}  // namespace

std::uint64_t new_session_word(const ReplicaChannel& channel) {
  if (const std::uint32_t version = channel.spoken_version(); version < views::clients_since) {
    throw Exception(Error(ErrorKind::unsupported, "the group speaks version " + std::to_string(version) +
                                                      " of the protocol, and clients have sessions from version " +
                                                      std::to_string(views::clients_since) + " on")
                        .fix("run this release at all members; the group speaks its version once the last earlier one "
                             "has left"));
  }
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

void require_open(const ClientRequest& request, const ReplicaChannel& channel) {
  if (request.number < request.settled) throw client_refused(ClientRefusal::settled, request, channel.subgroup());
}

void ClientCalls::open(std::span<const std::byte> words, ReplicatedCall* own) {
  const ClientSessionId session = table_.open(take_whole<std::uint64_t>(words));
  if (own != nullptr) own->on_own_result(channel_.self(), false, field_bytes(session));
}

void ClientCalls::close(std::span<const std::byte> words, ReplicatedCall* own) {
  table_.close(take_whole<ClientSessionId>(words));
  if (own != nullptr) own->on_own_result(channel_.self(), false, {});
}

ClientRequest ClientCalls::request(std::span<const std::byte> words) {
  const auto request = field_at_front<ClientRequest>(words);
  if (!request) throw BadBytes("it is cut off");
  return *request;
}

bool ClientCalls::begins(const ClientRequest& request, std::uint32_t method, ReplicatedCall* own) {
  const ClientVerdict judged = table_.judge(request, method);
  if (judged.kind == ClientVerdict::Kind::fresh) return true;
  if (own == nullptr) return false;
  const bool repeated = judged.kind == ClientVerdict::Kind::repeated;
  if (repeated && judged.kept->kind != KeptResult::Kind::too_large) {
    own->on_own_result(channel_.self(), judged.kept->kind == KeptResult::Kind::threw, judged.kept->bytes);
  } else {
    const ClientRefusal why = repeated ? ClientRefusal::too_large : judged.why;
    own->on_own_refusal(channel_.self(), std::make_exception_ptr(client_refused(why, request, channel_.subgroup())));
  }
  return false;
}

// The first answer is made from the bytes, too: so it is what every later one will be.
void ClientCalls::carried_out(const ClientRequest& request, std::uint32_t method, bool threw,
                              std::span<const std::byte> result, ReplicatedCall* own) {
  table_.keep(request, method, threw, result);
  if (own != nullptr) own->on_own_result(channel_.self(), threw, result);
}

void ClientCalls::save(std::vector<std::byte>& to) const {
  std::vector<std::byte> table;
  table_.save(table);
  const auto size = field_bytes(std::uint64_t{table.size()});
  to.insert(to.end(), size.begin(), size.end());
  to.insert(to.end(), table.begin(), table.end());
}

Result<std::span<const std::byte>> ClientCalls::load(std::span<const std::byte> state, const MethodLists& lists,
                                                     std::uint64_t digest) {
  ByteReader reader(state);
  const auto size = reader.get<std::uint64_t>();
  const std::span<const std::byte> table = reader.get_bytes(size);
  if (!reader.ok()) return Error(ErrorKind::bad_input, "the state of a replicated object is cut off");
  const auto place_now = [&](std::uint32_t method) -> std::optional<std::uint32_t> {
    const auto place = lists.place(digest, method);
    return place && *place < lists.count ? place : std::nullopt;
  };
  SPINDRIFT_TRY(table_.load(table, place_now));
  return reader.rest();
}

}  // namespace spindrift::replicated
