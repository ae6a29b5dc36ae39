// A client's way to one replicated object: which member it asks, the session, the numbers of its requests, and when each is
// made again. A protocol object: stepped with the time, it reads no clock and starts nothing; who owns it connects, sends,
// and tells it what comes. (docs/protocol.md, "Clients outside of the group")
//
// To remember: a request is doubtful once an attempt of it ended without an answer. One that is not doubtful, and was
// refused because its session is over, was not carried out, and goes on in another session; one that is doubtful never does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/client_messages.hpp>
#include <spindrift/group/member_choice.hpp>
#include <spindrift/group/member_patience.hpp>
#include <spindrift/rpc/calls.hpp>

namespace spindrift::clients {

struct CallerOptions {
  /// A member that leaves an attempt without an answer for so long, since it was made or the one before it was answered, is
  /// left; twice as long after each in vain, up to 8 times.
  Duration answer_within = std::chrono::seconds(2);
  Duration connect_within = std::chrono::seconds(5);
  /// Before another attempt here, or at all members; twice as long after each, up to the second.
  Duration pause_first = std::chrono::milliseconds(10);
  Duration pause_max = std::chrono::seconds(1);
  Duration members_every = std::chrono::seconds(10);  ///< it asks who they are
  std::size_t under_way = 8;                          ///< attempts
};

/// A request of the application: an update or a query.
struct Wanted {
  std::uint64_t ticket = 0;  ///< of no other one; higher than those before
  Ask ask = Ask::query;
  std::uint32_t method = 0;
  MessagePlace after{};  ///< of Ask::query_after
  std::vector<std::byte> arguments{};
  Time deadline = never;
};

/// The outcome of it.
struct Ended {
  enum class Kind : std::uint8_t {
    returned,  ///< `bytes` of the result
    threw,     ///< `bytes` of the exception
    failed,    ///< `why`: an Exception or ClientRefused
  };
  std::uint64_t ticket = 0;
  Kind kind = Kind::failed;
  std::vector<std::byte> bytes{};
  MessagePlace place{};  ///< as in MemberAnswer
  std::exception_ptr why{};
};

/// The things that its owner is to do, in this order.
struct CallerStep {
  bool hang_up = false;
  std::optional<std::string> connect{};  ///< to the member at that "host:port"
  struct Attempt {
    std::uint64_t number;
    std::vector<std::byte> request;
  };
  std::vector<Attempt> send{};  ///< the answers to these are told by their numbers
  std::vector<Ended> ended{};
  Time due = never;  ///< of the next step if nothing comes
};

/// The thing to do where members cannot be reached.
inline constexpr std::string_view reach_fix =
    "see whether members run there that have [SPINDRIFT] client_port: spindrift doctor on their hosts";

class ObjectCaller {
 public:
  ObjectCaller(std::string subgroup, std::uint64_t digest, MemberChoice members, const CallerOptions& options = {});

  void add(Wanted wanted);
  /// Nothing more is wanted: the session is closed once all has ended.
  void close() noexcept { closing_ = true; }
  [[nodiscard]] bool closed() const noexcept;
  /// All that is open ends for that reason, with the next step.
  void end(const Error& why);

  // The owner has heard that:
  void on_connected(Time now);
  /// The connection that it was to make, or has, is over. One that never came to be for a `why` of the kinds refused or
  /// unsupported never will; once that is so of all members, what is wanted fails.
  void on_lost(Error why, Time now);
  void on_answer(std::uint64_t attempt, rpc::CallStatus status, std::span<const std::byte> bytes, Time now);

  [[nodiscard]] CallerStep step(Time now);

  [[nodiscard]] const MemberChoice& members() const noexcept { return members_; }
  [[nodiscard]] const std::string& subgroup() const noexcept { return subgroup_; }
  [[nodiscard]] std::size_t open_count() const noexcept { return items_.size(); }

 private:
  struct Item {
    Wanted wanted;
    std::optional<std::uint64_t> number{};  ///< in the session of that generation
    std::uint64_t generation = 0;
    bool under_way = false;
    bool doubtful = false;
    Time retry_at{};
    unsigned pauses = 0;
    std::string reason{};  ///< for which it has no answer yet
  };
  struct Attempt {
    Ask ask;
    std::uint64_t ticket;  ///< 0: none of the application's
    Time sent;
  };
  struct Session {
    enum class State : std::uint8_t { none, opening, open };
    State state = State::none;
    ClientSessionId id{};
    std::uint64_t generation = 1;
    std::uint64_t next_number = 0;
    std::set<std::uint64_t> open{};  ///< numbers that are not settled
    Time retry_at{};
    unsigned pauses = 0;
    [[nodiscard]] std::uint64_t settled() const { return open.empty() ? next_number : *open.begin(); }
  };
  struct Connection {
    enum class State : std::uint8_t { none, connecting, connected };
    State state = State::none;
    Time since{};       ///< it is connecting
    Time not_before{};  ///< it is to be tried again
    Time members_at{};  ///< they are to be asked for
    unsigned pauses = 0;
    bool hang_up = false;
  };
  using Items = std::map<std::uint64_t, Item>;

  void expire(Time now);
  void find_retry(Time now);
  [[nodiscard]] bool is_silent(Time now) const;
  [[nodiscard]] Duration pause(unsigned before) const noexcept;
  void leave(Error why, Time now);
  void leave(const std::string& why, Time now);  ///< the member answers, or did before
  [[nodiscard]] Error unanswered(const Item& item) const;
  void connect(CallerStep& step, Time now);
  void send(CallerStep& step, Time now);
  void send_attempt(CallerStep& step, const CallerRequest& request, std::uint64_t ticket, Time now);
  [[nodiscard]] bool give_number(Item& item);
  [[nodiscard]] bool wants_session() const;
  [[nodiscard]] Time due(Time now) const;

  void on_members(const HeardAnswer& answer, Time now);
  void on_session(const HeardAnswer& answer, Time now);
  void on_item_answer(Item& item, const HeardAnswer& answer, Time now);
  void on_result(const Item& item, Ended::Kind kind, const HeardAnswer& answer);
  void on_refusal(Item& item, ClientRefusal why, Time now);
  void on_no_answer(const Attempt& attempt, rpc::CallStatus status, Time now);
  void retry(Item& item, const std::string& why, Time now);
  void end_session();
  void judge_old();
  void finish(const Item& item, Ended::Kind kind, std::span<const std::byte> bytes);
  void fail(const Item& item, std::exception_ptr why);
  void fail(const Item& item, const Error& why);
  [[nodiscard]] Error failure_of(const HeardAnswer& answer, bool doubtful) const;
  [[nodiscard]] std::string place() const;

  const std::string subgroup_;
  const std::uint64_t digest_;
  const CallerOptions options_;
  MemberChoice members_;
  MemberPatience patience_{options_.answer_within};
  Connection connection_;
  Session session_;
  Items items_;                                // by ticket
  std::set<std::uint64_t> numbered_;           // the tickets of those that have a number: few of many
  Time expiry_ = never;                        // no deadline of an item is before it
  Time retry_ = never;                         // no item is to be made again later than now, and before it
  std::map<std::uint64_t, Attempt> attempts_;  // under way, by number
  std::uint64_t attempts_made_ = 0;
  bool closing_ = false;
  std::vector<Ended> ended_;
};

}  // namespace spindrift::clients
