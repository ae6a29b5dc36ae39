// Calling replicated objects from outside of their group: a client is no member and no observer, has no vote and holds up
// nobody. It asks any member that lets it in, and another one when that is gone; each update is carried out once all the
// same.
//
//   spindrift::Client client({.members = {"10.0.0.1:7600", "10.0.0.2:7600"}, .group_name = "bank", .keys = "/etc/teller"});
//   auto ledger = client.replicated<Ledger>("ledger");
//   long left = ledger.update<&Ledger::deposit>("Ann", 100).get();
//   long seen = ledger.query<&Ledger::balance>("Ann").get();
//
// The members have [SPINDRIFT] client_port, and their program offers the object by `offer` of its Replicated<Ledger>.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/forks.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/client_session.hpp>
#include <spindrift/group/observation.hpp>
#include <spindrift/group/replicated_bytes.hpp>
#include <spindrift/group/replicated_error.hpp>
#include <spindrift/group/replicated_methods.hpp>

namespace spindrift {

/// The group that a client calls, how it proves itself, and its patience.
struct ClientOptions {
  /// "host:port" of members, where they listen for clients; at least one. The others are learned from who answers. A name
  /// may be that of several hosts.
  std::vector<std::string> members;
  std::string group_name;  ///< of the keys
  /// The directory of a key of the group, of the role client or member, as spindrift keys makes it. Empty: nobody proves
  /// anything, which is for members on the loopback interface.
  std::string keys;
  Duration give_up_after = std::chrono::seconds(30);  ///< a request that has no answer then ends with timed_out
  /// A member that leaves a request without an answer for so long is left for another one.
  Duration answer_within = std::chrono::seconds(2);
  std::size_t result_bytes_max = std::size_t{1} << 20U;  ///< of one result; below 8 MiB
  std::size_t requests_max = 4096;                       ///< that are not answered, of one object
};

namespace clients {

class ClientCore;

/// One request, between who waits for it and the client's thread.
class AwaitedAnswer {
 public:
  /// How the request ended.
  enum class Kind : std::uint8_t {
    returned,  ///< with bytes of a result
    threw,     ///< with bytes of an exception
    failed,    ///< without either
  };
  /// The client's thread, once.
  void set(Kind kind, std::vector<std::byte> bytes, const MessagePlace& place, std::exception_ptr why);
  /// The bytes of what was returned. Throws what was thrown, why it failed, timed_out, and bad_argument in a forked child.
  [[nodiscard]] const std::vector<std::byte>& get(std::optional<Duration> limit) const;
  /// The place at which it returned or threw. Throws why it failed, timed_out, and bad_argument in a forked child.
  [[nodiscard]] MessagePlace place(std::optional<Duration> limit) const;
  [[nodiscard]] bool is_there() const;  ///< whether `get` would not wait; throws bad_argument in a forked child

 private:
  /// Once this has returned, nothing changes any more.
  Kind await(std::optional<Duration> limit) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Kind> kind_;
  std::vector<std::byte> bytes_;
  MessagePlace place_;
  std::exception_ptr why_;
  const std::uint32_t process_ = process_generation();
};

/// Throws bad_input: these are no result of that type.
[[noreturn]] void refuse_result(const std::string& why);

/// The client's way to one object.
class ObjectWay {
 public:
  /// Made by a Client.
  ObjectWay(std::shared_ptr<ClientCore> core, std::uint64_t caller) : core_(std::move(core)), caller_(caller) {}
  /// The numbers are those of clients::Ask.
  enum class Kind : std::uint32_t { update = 4, query = 5, ordered_query = 6, query_after = 7 };
  /// Begins a request; throws as ClientObject. `after`: of query_after.
  [[nodiscard]] std::shared_ptr<const AwaitedAnswer> ask(Kind kind, std::size_t method, std::vector<std::byte> arguments,
                                                         const MessagePlace& after) const;

 private:
  std::shared_ptr<ClientCore> core_;
  std::uint64_t caller_;
};

}  // namespace clients

/// The outcome of one request, now or later. Copies are of the same one; it may be dropped, and may outlive the client.
/// Threads: any, but no handler of a group, which would hold that up.
template <class R>
class ClientFuture {
 public:
  /// Made by a ClientObject.
  explicit ClientFuture(std::shared_ptr<const clients::AwaitedAnswer> answer) : answer_(std::move(answer)) {}

  /// Waits for the result. Throws what the method threw, as another replica's caller gets it (ReplicaError); ClientRefused:
  /// the object does not carry it out, with `over` where nobody can tell whether it did before; timed_out: the client has
  /// given it up, with the reason of each member as its cause, or `limit` is over and the request goes on; refused (other
  /// Methods, no right to it, or no member takes this client's keys), bad_argument (no such subgroup, or a forked child),
  /// resource (arguments or result are too large), unsupported (another release; a member beyond loopback without keys),
  /// group_closed (the client is gone). Where a request failed that may have been carried out, the words say so.
  R get(std::optional<Duration> limit = {}) const {
    const std::vector<std::byte>& bytes = answer_->get(limit);
    if constexpr (std::is_void_v<R>) {
      if (!bytes.empty()) clients::refuse_result("a method without results has one");
    } else {
      R value{};
      try {
        replicated::take(bytes, value);
      } catch (const replicated::BadBytes& bad) {
        clients::refuse_result(bad.what());
      }
      return value;
    }
  }
  /// Waits for the result as `get`, and gives a place in the order up to which it has seen all: that of an update or an
  /// ordered query itself, or that of the last message that the replica had applied before a query. It says so of what the
  /// method threw, too. Zeros: a replica that has applied nothing yet does not know. Throws as `get`, but for what the
  /// method threw.
  MessagePlace place(std::optional<Duration> limit = {}) const { return answer_->place(limit); }
  /// Whether `get` would return or throw at once.
  [[nodiscard]] bool is_answered() const { return answer_->is_there(); }

 private:
  std::shared_ptr<const clients::AwaitedAnswer> answer_;
};

/// A replicated object as a client calls it. All functions from any thread; none waits. All throw resource (too many
/// requests are not answered), bad_argument (the arguments are larger than 8 MiB).
template <class T>
class ClientObject {
 public:
  /// Made by Client::replicated.
  explicit ClientObject(clients::ObjectWay way) : way_(std::move(way)) {}

  /// Calls a non-const member function, at every replica at one place of the order, once, however often the client has to
  /// ask for it. In a logged subgroup the answer comes when the call is durable. Requests that are under way at once may be
  /// carried out in any order.
  template <auto method, class... Arguments>
  auto update(Arguments&&... arguments) {
    static_assert(UpdateOf<method, T>, "not a non-const member function of the replicated type");
    return ask<method>(clients::ObjectWay::Kind::update, std::forward<Arguments>(arguments)...);
  }
  /// Calls a const member function of one replica, that of the member which is asked: it sees what is applied there, which
  /// may be behind, also behind an update that was answered to this client, once it asks another member.
  template <auto method, class... Arguments>
  auto query(Arguments&&... arguments) {
    static_assert(QueryOf<method, T>, "not a const member function of the replicated type");
    return ask<method>(clients::ObjectWay::Kind::query, std::forward<Arguments>(arguments)...);
  }
  /// The same, but it has seen all up to that place, which some future's `place` gave: so a client that gives the place of
  /// its last answer each time never reads what is older than that, whichever member it asks (its own updates, and monotonic
  /// reads). Where the member's replica is not there yet, it costs the group one message, as `ordered_query`. The future
  /// throws refused, too: all members of a group that keeps no log were gone since, and it has begun anew.
  template <auto method, class... Arguments>
  auto query_after(const MessagePlace& place, Arguments&&... arguments) {
    static_assert(QueryOf<method, T>, "not a const member function of the replicated type");
    return ask_after<method>(clients::ObjectWay::Kind::query_after, place, std::forward<Arguments>(arguments)...);
  }
  /// The same at a place in the order: it sees every update that was answered to anybody before this call (a linearizable
  /// read). Costs the group one message.
  template <auto method, class... Arguments>
  auto ordered_query(Arguments&&... arguments) {
    static_assert(QueryOf<method, T>, "not a const member function of the replicated type");
    return ask<method>(clients::ObjectWay::Kind::ordered_query, std::forward<Arguments>(arguments)...);
  }

 private:
  template <auto method, class... Given>
  auto ask(clients::ObjectWay::Kind kind, Given&&... given) {
    return ask_after<method>(kind, MessagePlace{}, std::forward<Given>(given)...);
  }
  template <auto method, class... Given>
  auto ask_after(clients::ObjectWay::Kind kind, const MessagePlace& after, Given&&... given) {
    using Traits = replicated::Traits<method>;
    using Arguments = typename Traits::Arguments;
    using Methods = typename MethodsOf<T>::type;
    static_assert(ReplicatedMethodOf<method, T>, "not in the type's list of Methods: add it to Replicates<…>");
    static_assert(Traits::arguments_travel && replicated::owns_its_values<Arguments>,
                  "a replicated method takes values: no pointers, spans, string_views or references that it writes to");
    static_assert(sizeof...(Given) == std::tuple_size_v<Arguments>,
                  "a call of a replicated method takes as many arguments as the method has parameters");
    const Arguments values(std::forward<Given>(given)...);
    std::vector<std::byte> bytes;
    std::apply([&](const auto&... each) { replicated::put(bytes, each...); }, values);
    return ClientFuture<typename Traits::Result>(
        way_.ask(kind, replicated::position_in<method, Methods>, std::move(bytes), after));
  }

  clients::ObjectWay way_;
};

/// A client of one group. Has a thread of its own, and a connection for each object. All functions from any thread. It is of
/// the process that made it: in a child that this forks, all calls but destructors throw bad_argument, those of its objects
/// and futures, too.
class Client {
 public:
  /// Connects with the first request. Throws bad_argument (options), bad_config, bad_input, refused, resource (the keys).
  explicit Client(ClientOptions options);
  /// Ends what is not answered with group_closed, and closes its sessions, for which it waits a second at most.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The object of that subgroup, as its members have it: T lists the same Methods as theirs. Throws bad_argument.
  template <class T>
  [[nodiscard]] ClientObject<T> replicated(std::string_view subgroup) {
    return ClientObject<T>(way(subgroup, replicated::DigestOf<typename MethodsOf<T>::type>::value()));
  }

 private:
  [[nodiscard]] clients::ObjectWay way(std::string_view subgroup, std::uint64_t digest);

  std::shared_ptr<clients::ClientCore> core_;
};

}  // namespace spindrift
