// A replica's part for clients: it opens and closes their sessions and answers their requests, at the places of these in the
// order. Each replica does the same; the one at which the caller waits tells it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/client_session.hpp>
#include <spindrift/group/client_table.hpp>
#include <spindrift/group/replica_channel.hpp>
#include <spindrift/group/replicated_call.hpp>
#include <spindrift/group/replicated_methods.hpp>

namespace spindrift::replicated {

/// Drawn for a session that is to be opened. Throws unsupported: the group has a member whose release knows no sessions, or
/// had one when its view began.
[[nodiscard]] std::uint64_t new_session_word(const ReplicaChannel& channel);
/// Throws ClientRefused: by its own words the request is settled.
void require_open(const ClientRequest& request, const ReplicaChannel& channel);

/// The poller's, but for save and load, which are between two deliveries.
class ClientCalls {
 public:
  explicit ClientCalls(const ReplicaChannel& channel) : channel_(channel) {}

  // `own`: the call of this process that waits for it; null: none does. All throw BadBytes, and then change nothing.

  /// `words`: what the message has behind its head.
  void open(std::span<const std::byte> words, ReplicatedCall* own);
  void close(std::span<const std::byte> words, ReplicatedCall* own);
  /// The request at the front of `words`.
  [[nodiscard]] static ClientRequest request(std::span<const std::byte> words);
  /// Whether the method is to run now, and `carried_out` to be told. Otherwise it is answered.
  [[nodiscard]] bool begins(const ClientRequest& request, std::uint32_t method, ReplicatedCall* own);
  void carried_out(const ClientRequest& request, std::uint32_t method, bool threw, std::span<const std::byte> result,
                   ReplicatedCall* own);

  /// Nothing was ever opened, and so there is nothing to save.
  [[nodiscard]] bool untouched() const noexcept { return table_.untouched(); }
  /// Appends all of it, and how many bytes that are.
  void save(std::vector<std::byte>& to) const;
  /// Takes what another replica saved from the front of `state`, of the list of methods of that digest, and returns what is
  /// behind it. Errors: bad_input.
  [[nodiscard]] Result<std::span<const std::byte>> load(std::span<const std::byte> state, const MethodLists& lists,
                                                        std::uint64_t digest);
  /// The state is of no sessions.
  void clear() { table_ = ClientTable(); }

 private:
  const ReplicaChannel& channel_;
  ClientTable table_;
};

}  // namespace spindrift::replicated
