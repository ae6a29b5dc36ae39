// Requests of clients at a member: what each becomes. Nothing here waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/client_rights.hpp>
#include <spindrift/group/client_messages.hpp>
#include <spindrift/group/relayed_call.hpp>
#include <spindrift/group/relayed_object.hpp>

namespace spindrift::group {

/// The things of a member that clients may ask for. Any thread.
class OfferedObjects {
 public:
  struct Found {
    bool known = false;             ///< the group has a subgroup of that name
    replicated::RelayedObject* object = nullptr;  ///< that the program offers; null: there is none
  };
  [[nodiscard]] virtual Found find(std::string_view subgroup) const = 0;
  /// The addresses at which its members listen for clients.
  [[nodiscard]] virtual std::vector<std::string> members(std::string_view subgroup) const = 0;
  /// This member, for people.
  [[nodiscard]] virtual std::string name() const = 0;

 protected:
  ~OfferedObjects() = default;
};

/// A query of this member's replica, to be read where nothing else waits for it.
class ClientQuery {
 public:
  /// The bytes were decoded, and are a query's.
  ClientQuery(const replicated::RelayedObject& object, std::span<const std::byte> bytes);
  [[nodiscard]] clients::MemberAnswer read() const { return object_->read(request_); }

 private:
  const replicated::RelayedObject* object_;
  std::vector<std::byte> bytes_;
  clients::CallerRequest request_;  // in those
};

/// One of these is there.
struct TakenRequest {
  std::optional<clients::MemberAnswer> answer{};
  std::shared_ptr<replicated::RelayedCall> call{};  ///< is on its way, and has to be held until it tells its answer
  std::optional<ClientQuery> query{};
};

/// The client that asks, and what clients may.
struct RequestOrigin {
  const config::ClientRights& rights;
  std::string client;      ///< the name in its key; empty: it has shown none
  bool is_member = false;  ///< has the key of a member, and may do all
};

/// Judges a client's bytes and begins what they ask for. `on_answer`: for the call, see RelayedCall.
[[nodiscard]] TakenRequest take_request(const OfferedObjects& objects, const RequestOrigin& origin,
                                        std::span<const std::byte> bytes, std::function<void()> on_answer);

}  // namespace spindrift::group
