// Reading a feed, and the words with the member that writes it.
#include <spindrift/group/local_feed.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/fabric/shm/packet.hpp>

namespace spindrift::group {

using fabric::shm::Packet;

Result<std::unique_ptr<LocalFeed>> LocalFeed::open(const FeedOrigin& origin, FileDescriptor socket,
                                                   fabric::shm::PeerSegment memory, std::uint64_t position) {
  SPINDRIFT_TRY_ASSIGN(FeedReader reader, FeedReader::open(memory.memory(), position));
  return std::unique_ptr<LocalFeed>(new LocalFeed(origin, std::move(socket), std::move(memory), std::move(reader)));
}

Result<FeedSource::Found> LocalFeed::next(FeedMessage& to) {
  if (state_ == State::over) return Found::over;
  if (state_ == State::napping) state_ = State::reading;
  SPINDRIFT_TRY_ASSIGN(const FeedReader::Found found, reader_.next(to));
  read_all_ = found == FeedReader::Found::nothing;
  if (found == FeedReader::Found::message) {
    naps_.on_messages(1);
    known_ = to.record.number + 1;
    return Found::message;
  }
  if (found == FeedReader::Found::overtaken) return Found::again;
  const auto end = reader_.end();
  if (!end || reader_.behind()) return Found::again;
  if (end->delivered > std::max(known_, left_out_)) {  // as long as that goes on, it is one gap
    naps_.on_messages(end->delivered - std::max(known_, left_out_));
    left_out_ = end->delivered;
    return Found::nothing;
  }
  known_ = end->delivered;
  // A feed that was not written for a while says how far it was then.
  end_ = end->delivered < origin_.before.delivered ? origin_.before : *end;
  if (state_ == State::finished) state_ = State::over;
  return Found::end;
}

void LocalFeed::report() {
  const std::uint64_t position = reader_.position();
  if (state_ == State::waiting) on_readable();
  if (state_ != State::reading || !reader_.report_due(reported_)) return;
  const auto packet = encode({ObserverCall::reading, position, {}, {}});
  // A member that is slow to take it leaves out more.
  static_cast<void>(fabric::shm::send_packet(socket_.get(), packet, {}, -1));
  reported_ = position;
}

void LocalFeed::finish() noexcept {
  if (state_ != State::over) state_ = State::finished;
}

bool LocalFeed::news() const noexcept {
  if (reader_.behind()) return true;
  const auto end = reader_.end();
  return !end || end->delivered > known_;
}

bool LocalFeed::pending() const noexcept {
  return state_ == State::finished || state_ == State::over || (state_ != State::napping && news());
}

void LocalFeed::rest(Time now, Time at_most) {
  if (state_ == State::napping && now >= nap_until_) state_ = State::reading;
  if (state_ != State::reading) return;
  Duration nap{};
  if (read_all_) {
    nap = naps_.next(reader_.laps_from(rested_));
    rested_ = reader_.position();
  }
  read_all_ = false;
  if (nap > Duration(0) && now <= at_most - nap) {
    state_ = State::napping;
    nap_until_ = now + nap;
    return;
  }
  if (news()) return;
  const auto packet = encode({ObserverCall::await, reader_.position(), {}, {}, 0, end_.delivered});
  state_ = State::waiting;
  // A packet that could not be sent shows as the end of the connection.
  static_cast<void>(fabric::shm::send_packet(socket_.get(), packet, {}, -1));
}

void LocalFeed::on_readable() {
  std::array<std::byte, observer_packet_bytes_max> buffer;
  const Packet packet = fabric::shm::receive_packet(socket_.get(), buffer);
  if (packet.outcome == Packet::Outcome::nothing) return;
  const auto said = packet.outcome == Packet::Outcome::frame ? decode_observer_packet(packet.bytes) : std::nullopt;
  if (said && said->call == ObserverCall::woken) {
    if (state_ == State::waiting) state_ = State::reading;
    return;
  }
  if (said && said->call == ObserverCall::ended) why_ = said->text;
  finish();
}

Result<std::optional<FileDescriptor>> call_member(const GuardedDirectory& directory, const std::string& file_name,
                                                  const ObserverPacket& hello) {
  SPINDRIFT_TRY_ASSIGN(auto socket, fabric::call_in(directory, file_name));
  // One that has refused already takes nothing, and has said why.
  if (socket) static_cast<void>(fabric::shm::send_packet(socket->get(), encode(hello), {}, -1));
  return socket;
}

Result<LocalAnswer> take_answer(NodeId node, FileDescriptor& socket) {
  const auto impossible = [node] {
    return Error(ErrorKind::bad_input, "node " + std::to_string(node.value()) + " answered what no member does")
        .fix("use the same version of spindrift for members and observers");
  };
  using Kind = LocalAnswer::Kind;
  std::array<std::byte, observer_packet_bytes_max> buffer;
  Packet packet = fabric::shm::receive_packet(socket.get(), buffer);
  if (packet.outcome == Packet::Outcome::nothing) return LocalAnswer{};
  if (packet.outcome == Packet::Outcome::starved) return out_of_descriptors();
  if (packet.outcome == Packet::Outcome::ended || packet.outcome == Packet::Outcome::broken)
    return LocalAnswer{Kind::ended, "has ended", 0, nullptr};
  const auto said = decode_observer_packet(packet.bytes);
  if (!said) return impossible();
  switch (said->call) {
    case ObserverCall::welcome: {
      SPINDRIFT_TRY_ASSIGN(auto memory,
                           fabric::shm::PeerSegment::open(std::move(packet.descriptor), said->number, fabric::Access::read));
      const FeedOrigin origin{node, said->mode, {said->delivered, said->last}, 0};
      SPINDRIFT_TRY_ASSIGN(auto feed, LocalFeed::open(origin, std::move(socket), std::move(memory), said->position));
      return LocalAnswer{Kind::fed, {}, 0, std::move(feed)};
    }
    case ObserverCall::refused: return LocalAnswer{Kind::refused, said->text, said->number, nullptr};
    case ObserverCall::standing_by: return LocalAnswer{Kind::standing_by, said->text, 0, nullptr};
    case ObserverCall::ended: return LocalAnswer{Kind::ended, "has ended: " + said->text, 0, nullptr};
    default: return impossible();
  }
}

}  // namespace spindrift::group
