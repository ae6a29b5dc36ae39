// An observer's search on other hosts for a member that feeds it: it calls one after the other, each observer in an order of
// its own, and takes the first one that has the feed.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/resolver.hpp>
#include <spindrift/fabric/tcp/handshakes.hpp>
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/feed_source.hpp>
#include <spindrift/group/observer_frames.hpp>

namespace spindrift::group {

class NetworkSearch {
 public:
  /// So long the next member waits for its call while one that was called has not answered.
  static constexpr Duration between_calls = std::chrono::milliseconds(250);
  /// So long one that does not feed waits for its next call.
  static constexpr Duration between_attempts = std::chrono::seconds(1);
  /// So long a member that has taken a call may take for the answer.
  static constexpr Duration answer_max = std::chrono::seconds(3);

  /// `source`: that member alone. The clock outlives this object.
  NetworkSearch(const Config& config, std::string subgroup, std::optional<NodeId> source, const Clock& clock);

  /// Begins anew. `from`: nothing for the first feed.
  void begin(std::optional<Resumption> from);
  /// Hangs up.
  void stop();

  /// Takes what came since, and calls. To be called again at `next_look`, too. Null: nobody feeds this observer yet. Errors:
  /// bad_argument (no such subgroup), bad_input (what no member sends).
  [[nodiscard]] Result<std::unique_ptr<FeedSource>> look();
  [[nodiscard]] Time next_look() const noexcept;
  /// Adds the descriptors whose news `look` takes.
  void add_waits(std::vector<pollfd>& to) const;
  /// A fault of this observer's own keys, which no other member and no time will mend.
  [[nodiscard]] const std::optional<Error>& refusal() const noexcept { return refusal_; }
  /// The members' answers, or why they cannot be called, in words.
  [[nodiscard]] std::string answers() const;

 private:
  struct Callee {
    enum class State : std::uint8_t { idle, resolving, calling, asked, standing_by };
    NodeId node;
    std::string endpoint;
    State state = State::idle;
    fabric::tcp::CallTicket ticket{};
    std::unique_ptr<fabric::tcp::ByteStream> stream;  ///< asked, standing by
    FrameBuffer frames{feed_record_bytes_max};
    Time deadline{};     ///< asked: for the answer; idle: not called before
    std::string answer;  ///< so far
  };
  using State = Callee::State;

  [[nodiscard]] Result<void> open();
  void take_outcomes();
  void call_next();
  void call(Callee& callee, const Result<fabric::connected::SocketAddress>& address);
  void ask(Callee& callee, std::unique_ptr<fabric::tcp::ByteStream> stream);
  void fail(Callee& callee, std::string why);
  /// The reason with its likely cause, if a connection ended without a word.
  [[nodiscard]] std::string explained(const std::string& reason) const;
  [[nodiscard]] Result<std::unique_ptr<FeedSource>> hear(Callee& callee);
  [[nodiscard]] Result<std::unique_ptr<FeedSource>> on_packet(Callee& callee, const ObserverPacket& said);

  const Config config_;
  const std::string subgroup_;
  const Clock& clock_;
  const FileDescriptor bell_;  // the resolver's
  std::vector<Callee> callees_;
  std::optional<Resumption> from_;
  std::unique_ptr<fabric::tcp::Handshakes> handshakes_;  // null: it is not searching, or cannot
  std::string unable_;                                   // why not
  std::optional<Error> refusal_;
  fabric::tcp::CallTicket newest_{0};
  Time next_call_{};
  fabric::connected::Resolver resolver_;
};

}  // namespace spindrift::group
