// An observer between two states: it looks for a member, or is fed by one.
#include <spindrift/group/observer.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/shm/packet.hpp>
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/observer_calls.hpp>
#include <spindrift/group/observer_search.hpp>

namespace spindrift {

using fabric::shm::Packet;
using group::FeedCursor;
using group::FeedReader;
using group::FoundFeed;
using group::ObserverCall;

namespace {

/// A feed while its member is there, and for as long as something is left in it.
struct Attached {
  enum class State : std::uint8_t {
    reading,
    waiting,   ///< the member is to wake this observer
    finished,  ///< nothing more will come
  };
  FoundFeed feed;
  FeedReader reader;
  std::uint64_t reported = 0;   ///< position
  std::uint64_t delivered = 0;  ///< messages, at the end of what was read
  State state = State::reading;
};

}  // namespace

class ObserverCore {
 public:
  ObserverCore(const Config& config, std::string_view subgroup, ObserverHandlers handlers, ObserverOptions options)
      : group_(config.group_name()),
        subgroup_(subgroup),
        patience_(config.join_timeout()),
        source_(options.source),
        handlers_(checked(std::move(handlers))),
        directory_(value_or_throw(GuardedDirectory::open(config.runtime_directory(), config.group_name()))) {
    begin_search();
  }

  std::size_t poll(std::size_t most) {
    if (!look()) return 0;
    std::size_t messages = 0;
    // A feed that is rewritten all the time, or lies, gives the caller its thread back all the same.
    for (std::size_t turns = 0; messages < most && turns < 2 * most; ++turns) {
      switch (value_or_throw(attached_->reader.next(message_))) {
        case FeedReader::Found::message: messages += hand_over() ? 1 : 0; break;
        case FeedReader::Found::overtaken: break;
        case FeedReader::Found::nothing:
          if (!at_end()) break;
          attached_->state == State::finished ? detach() : report();
          return messages;
      }
    }
    report();
    return messages;
  }

  bool wait(int interrupt, std::optional<std::chrono::milliseconds> at_most) {
    if (next_ || (attached_ && (attached_->state == State::finished || attached_->reader.behind()))) return true;
    std::vector<pollfd> waits{{.fd = interrupt, .events = POLLIN, .revents = 0}};
    if (attached_) {
      if (attached_->state == State::reading) await_more();
      waits.push_back({.fd = attached_->feed.socket.get(), .events = POLLIN, .revents = 0});
    }
    if (search_) search_->add_waits(waits);
    const int ready = ::poll(waits.data(), waits.size(), milliseconds(at_most));
    if ((waits[0].revents & POLLNVAL) != 0)
      throw Exception(Error(ErrorKind::bad_argument, "the descriptor to interrupt an observer is not open"));
    if (attached_ && waits[1].revents != 0) on_news();
    return waits[0].revents == 0 && (ready > 0 || clock_.now() >= next_look());
  }

  [[nodiscard]] std::optional<NodeId> source() const noexcept {
    return attached_ ? std::optional(attached_->feed.source) : std::nullopt;
  }

  [[nodiscard]] std::string waits_for() const {
    if (attached_) return {};
    const std::string whom = source_ ? "node " + std::to_string(source_->value()) : "a member";
    const std::string answers = search_->answers();
    return whom + " of group " + group_ + " on this host that is in subgroup " + subgroup_ +
           (answers.empty() ? "" : " (" + answers + ")");
  }

 private:
  static ObserverHandlers checked(ObserverHandlers handlers) {
    if (handlers.on_message) return handlers;
    throw Exception(Error(ErrorKind::bad_argument, "an observer has no on_message").fix("set it; on_gap may be null"));
  }

  void begin_search() {
    until_ = clock_.now() + patience_;
    search_.emplace(directory_, subgroup_, source_);
    value_or_throw(search_->begin(clock_.now()));
  }

  // Nothing more comes from this member; another one may have answered already.
  void detach() {
    attached_.reset();
    if (next_) {
      attach(*std::exchange(next_, std::nullopt));
    } else {
      begin_search();
    }
  }

  // Whether there is a feed.
  bool look() {
    auto found = search_ ? value_or_throw(search_->look(clock_.now())) : std::nullopt;
    if (attached_) {
      if (!found) return true;
      // Its member was removed, and may be stopped: what it has written is all that comes.
      next_ = std::move(found);
      search_.reset();
      attached_->state = State::finished;
      return true;
    }
    if (!found) {
      if (clock_.now() >= until_) give_up();
      return false;
    }
    attach(std::move(*found));
    return true;
  }

  void attach(FoundFeed found) {
    FeedReader reader = value_or_throw(FeedReader::open(found.memory.memory(), found.position));
    if (!cursor_) {
      cursor_.emplace(found.mode, found.end);
    } else {
      if (found.mode == DeliveryMode::ordered) reader.rewind();  // what came since may be there
      cursor_->on_feed();
    }
    search_.reset();
    if (!source_) {
      search_.emplace(group::ObserverSearch::beside(directory_, subgroup_, found.source));
      value_or_throw(search_->begin(clock_.now()));
    }
    const std::uint64_t position = reader.position();
    attached_.emplace(Attached{std::move(found), std::move(reader), position});
  }

  [[noreturn]] void give_up() const {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count();
    throw Exception(
        Error(ErrorKind::timed_out, "an observer waited " + std::to_string(waited) + " ms for " + waits_for())
            .at(directory_.path())
            .fix(search_->answers().empty()
                     ? "start a member on this host with the same [SPINDRIFT] runtime_directory, or become one"
                     : "see to what these members answer, or become one"));
  }

  // True: a message, which counts.
  bool hand_over() {
    const group::FeedRecord& record = message_.record;
    const FeedCursor::Verdict verdict = cursor_->judge(record);
    if (verdict == FeedCursor::Verdict::known) return false;
    if (verdict != FeedCursor::Verdict::next && handlers_.on_gap) handlers_.on_gap(cursor_->gap());
    if (verdict == FeedCursor::Verdict::missing) return false;
    handlers_.on_message({NodeId(record.sender), SenderRank(record.sender_rank), MessageIndex(record.index),
                          SequenceNumber(record.sequence), message_.payload, ViewId(record.view)});
    return true;
  }

  // Whether that is all, what was left out told.
  bool at_end() {
    auto end = attached_->reader.end();
    if (!end || attached_->reader.behind()) return false;
    // A feed that was not written for a while says how far it was then.
    if (end->delivered < attached_->feed.end.delivered) end = attached_->feed.end;
    attached_->delivered = end->delivered;
    if (cursor_->on_end(*end) && handlers_.on_gap) handlers_.on_gap(cursor_->gap());
    return true;
  }

  void report() {
    const std::uint64_t position = attached_->reader.position();
    if (attached_->state == State::waiting) on_news();
    if (attached_->state != State::reading || position - attached_->reported < attached_->reader.report_interval())
      return;
    const auto packet = group::encode({ObserverCall::reading, position, {}, {}});
    // A member that is slow to take it leaves out more.
    static_cast<void>(fabric::shm::send_packet(attached_->feed.socket.get(), packet, {}, -1));
    attached_->reported = position;
  }

  void await_more() {
    const auto packet = group::encode({ObserverCall::await, attached_->reader.position(), {}, {}, 0, attached_->delivered});
    attached_->state = State::waiting;
    // A packet that could not be sent shows as the end of the connection.
    static_cast<void>(fabric::shm::send_packet(attached_->feed.socket.get(), packet, {}, -1));
  }

  void on_news() {
    std::array<std::byte, group::observer_packet_bytes_max> buffer;
    const Packet packet = fabric::shm::receive_packet(attached_->feed.socket.get(), buffer);
    if (packet.outcome == Packet::Outcome::nothing) return;
    const auto said = packet.outcome == Packet::Outcome::frame ? group::decode_observer_packet(packet.bytes) : std::nullopt;
    attached_->state = said && said->call == ObserverCall::woken ? State::reading : State::finished;
  }

  [[nodiscard]] Time next_look() const {
    const Time calls = search_ ? search_->next_calls() : never;
    return attached_ ? calls : std::min(until_, calls);
  }

  [[nodiscard]] int milliseconds(std::optional<std::chrono::milliseconds> at_most) const {
    constexpr std::chrono::milliseconds long_time = std::chrono::hours(1);
    auto time = at_most ? std::clamp(*at_most, std::chrono::milliseconds(0), long_time) : long_time;
    if (const Time next = next_look(); next != never) {
      const Duration left = std::max(next - clock_.now(), Duration(0));
      time = std::min(time, std::chrono::ceil<std::chrono::milliseconds>(left));
    }
    return static_cast<int>(time.count());
  }

  using State = Attached::State;

  const std::string group_;
  const std::string subgroup_;
  const Duration patience_;
  const std::optional<NodeId> source_;
  const ObserverHandlers handlers_;
  const SystemClock clock_;
  const GuardedDirectory directory_;
  std::optional<group::ObserverSearch> search_;  // while attached: for who says that the member was removed
  std::optional<Attached> attached_;
  std::optional<FoundFeed> next_;  // for when that is finished
  std::optional<FeedCursor> cursor_;  // from the first feed on
  Time until_{};                      // for so long it looks
  group::FeedMessage message_;
};

Observer::Observer(const Config& config, std::string_view subgroup, ObserverHandlers handlers, ObserverOptions options)
    : core_(std::make_unique<ObserverCore>(config, subgroup, std::move(handlers), options)) {}
Observer::~Observer() = default;
std::size_t Observer::poll(std::size_t most) { return core_->poll(most); }
bool Observer::wait(int interrupt, std::optional<std::chrono::milliseconds> at_most) {
  return core_->wait(interrupt, at_most);
}
std::optional<NodeId> Observer::source() const noexcept { return core_->source(); }
std::string Observer::waits_for() const { return core_->waits_for(); }

}  // namespace spindrift
