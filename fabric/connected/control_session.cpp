// Messages inside of records, and records inside of messages.
#include <spindrift/fabric/connected/control_session.hpp>

#include <algorithm>
#include <string>

#include <spindrift/core/bytes.hpp>

namespace spindrift::fabric::connected {
namespace {

using Length = std::uint32_t;
constexpr std::size_t inner_bytes_max = header_bytes + message_bytes_max;
constexpr std::size_t carried_bytes_max = message_bytes_max;

Error stranger(std::string what) {
  return Error(ErrorKind::refused, std::move(what)).fix("see who else is between the two nodes");
}

}  // namespace

void ControlSession::begin(Time deadline) noexcept {
  if (state_ == State::waiting) state_ = State::proving;
  deadline_ = deadline;
}

Result<void> ControlSession::take(std::span<const std::byte> records, const PeerCall& call) {
  SPINDRIFT_TRY(records_.take(records));
  if (!records_.established()) return {};
  if (!greeted_) SPINDRIFT_TRY(greet(call));
  const auto opened = records_.take_opened();
  inside_.insert(inside_.end(), opened.begin(), opened.end());
  SPINDRIFT_TRY(divide());
  if (state_ == State::proved || messages_.empty()) return {};
  const auto greeting = std::move(messages_.front());
  messages_.pop_front();
  return check(greeting, call);
}

/// Takes what is whole off the opened bytes.
Result<void> ControlSession::divide() {
  ByteReader reader(inside_);
  std::size_t taken = 0;
  while (true) {
    const auto length = reader.get<Length>();
    if (length > inner_bytes_max) return stranger("it announces a message of " + std::to_string(length) + " bytes");
    const auto message = reader.get_bytes(length);
    if (!reader.ok()) break;
    messages_.emplace_back(message.begin(), message.end());
    taken += sizeof length + length;
  }
  inside_.erase(inside_.begin(), inside_.begin() + static_cast<std::ptrdiff_t>(taken));
  return {};
}

// Only the node that was called, or that the greeting names, may be at the other end.
Result<void> ControlSession::greet(const PeerCall& call) {
  SPINDRIFT_TRY(records_.vouches_for(call.node));
  greeted_ = true;
  state_ = State::greeting;
  return say(encode(Greeting{self_, incarnation_, 0, call.word, call.peer_word}));
}

Result<void> ControlSession::check(std::span<const std::byte> bytes, const PeerCall& call) {
  const auto greeting = decode_greeting(bytes);
  if (!greeting) return stranger("it does not repeat its greeting");
  if (greeting->node != call.node || greeting->incarnation != call.incarnation || greeting->word != call.peer_word ||
      greeting->proof != call.word)
    return stranger("its greeting was changed on its way, or is another connection's");
  state_ = State::proved;
  return {};
}

std::optional<std::vector<std::byte>> ControlSession::next() {
  if (messages_.empty()) return std::nullopt;
  auto oldest = std::move(messages_.front());
  messages_.pop_front();
  return oldest;
}

Result<void> ControlSession::say(std::span<const std::byte> message) {
  return records_.seal(ByteWriter().put(static_cast<Length>(message.size())).put_bytes(message).take());
}

std::vector<std::vector<std::byte>> ControlSession::take_carriers() {
  const auto sealed = records_.take_sealed();
  std::vector<std::vector<std::byte>> carriers;
  for (std::span<const std::byte> rest(sealed); !rest.empty();) {
    const auto piece = rest.first(std::min(rest.size(), carried_bytes_max));
    rest = rest.subspan(piece.size());
    carriers.push_back(sealed_message(piece));
  }
  return carriers;
}

}  // namespace spindrift::fabric::connected
