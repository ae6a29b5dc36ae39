// The client table of a replicated object: the open sessions of clients, and of each the results that it may ask for again.
// A part of the object's state: it follows from the calls in their order, so all replicas have the same. (docs/protocol.md,
// "Requests of clients")
//
// To remember: nothing in it may come from anywhere else, no clock and no view; and a limit that differs between two members
// is as a method that does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/client_session.hpp>

namespace spindrift::replicated {

/// How much a table keeps. `bytes` has room for what one session may have: `session_bytes` and two results more.
struct ClientLimits {
  std::uint64_t sessions = 1024;
  std::uint64_t open = 64;                         ///< requests of a session, from the first that is not settled on
  std::uint64_t result_bytes = 64 * 1024;          ///< of a result that is kept
  std::uint64_t session_bytes = 256 * 1024;        ///< of results: with so many only the first open request is carried out
  std::uint64_t bytes = std::uint64_t{64} << 20U;  ///< of all results
};

/// The outcome of a request that was carried out.
struct KeptResult {
  enum class Kind : std::uint32_t {
    returned,
    threw,
    too_large,  ///< either, and the bytes are gone
  };
  std::uint32_t method = 0;
  Kind kind = Kind::returned;
  std::vector<std::byte> bytes{};
};

/// The table's word about a request.
struct ClientVerdict {
  enum class Kind : std::uint8_t {
    fresh,     ///< the method is to run, and its result to be kept, before anything else happens to the table
    repeated,  ///< `kept` is its result; valid until the table changes
    refused,   ///< for `why`
  };
  Kind kind = Kind::fresh;
  ClientRefusal why{};
  const KeptResult* kept = nullptr;
};

/// Pure. Threads: none of its own.
class ClientTable {
 public:
  explicit ClientTable(const ClientLimits& limits = {}) : limits_(limits) {}

  /// With too many the one that was used the longest ago is over.
  [[nodiscard]] ClientSessionId open(std::uint64_t word);
  /// One that is over already stays so.
  void close(const ClientSessionId& session);
  /// A request at its place in the order. `method`: its place in the object's list.
  [[nodiscard]] ClientVerdict judge(const ClientRequest& request, std::uint32_t method);
  /// The result of a fresh request: bytes of what it returned, or threw. With too many bytes other sessions are over, those
  /// first that keep the most.
  void keep(const ClientRequest& request, std::uint32_t method, bool threw, std::span<const std::byte> result);

  /// No session was ever opened, and so there is nothing to save.
  [[nodiscard]] bool untouched() const noexcept { return opened_ == 0; }
  [[nodiscard]] std::size_t sessions() const noexcept { return sessions_.size(); }
  /// The sum of the results that are kept.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Appends all of it.
  void save(std::vector<std::byte>& to) const;
  /// Takes what another member saved. `place_now`: the place in the own list of a method of the list of whoever saved it.
  /// Errors: bad_input; the table is as before.
  using PlaceNow = std::function<std::optional<std::uint32_t>(std::uint32_t)>;
  [[nodiscard]] Result<void> load(std::span<const std::byte> from, const PlaceNow& place_now);

 private:
  struct Session {
    ClientSessionId id{};
    std::uint64_t settled = 0;
    std::map<std::uint64_t, KeptResult> kept{};  // by number, which is not settled
    std::uint64_t bytes = 0;                     // of them
  };
  using Sessions = std::list<Session>;
  class Loading;

  [[nodiscard]] Sessions::iterator find(const ClientSessionId& id);
  void settle(Session& session, std::uint64_t below);
  /// The one that keeps the most bytes of all others, and of equal ones the one that was used the longest ago.
  [[nodiscard]] Sessions::iterator heaviest_but(Sessions::iterator asks);
  void end(Sessions::iterator session);

  ClientLimits limits_;
  Sessions sessions_;  // that which was used the longest ago first
  std::unordered_map<std::uint64_t, Sessions::iterator> by_number_;
  std::uint64_t opened_ = 0;  // so far; numbers are never given again
  std::uint64_t bytes_ = 0;   // of all sessions
};

}  // namespace spindrift::replicated
