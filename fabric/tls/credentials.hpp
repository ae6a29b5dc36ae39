// The keys by which a process proves itself to the members of its group, and the judgment of what they show: one object for
// all of its connections, whose keys may change while it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/bundle.hpp>
#include <spindrift/fabric/tls/certificate.hpp>
#include <spindrift/fabric/tls/context.hpp>
#include <spindrift/fabric/tls/identity.hpp>
#include <spindrift/fabric/tls/openssl.hpp>
#include <spindrift/fabric/tls/revocation_lists.hpp>

namespace spindrift::fabric::tls {

/// The names and numbers in a bundle's certificates and lists.
struct KeyFacts {
  ShownCertificate own;
  std::set<std::string> authorities;  ///< fingerprints
  std::set<std::string> revoked;      ///< serial numbers
};

/// The facts that were told last, and those in force.
struct KeyChange {
  KeyFacts before;
  KeyFacts now;
};

/// Threads: all functions may be called by any thread at any time; a session, by one thread at a time, as OpenSSL has it.
/// A connection's life: `new_session` (then SSL_set_connect_state or SSL_set_accept_state, SSL_do_handshake), and on success
/// `peer_identity` and `admit_member`, before any byte of the peer is read; on failure `handshake_error`. Whenever
/// `revision` has changed, `recheck` for each connection that lives.
///
/// The lists of revoked certificates in force are the newest of all that files and peers have brought since the process
/// began: none ever gives way to an older one of its authority.
class Credentials {
 public:
  /// Reads the bundle in `directory`, which must be that of this node. Errors: bad_config, bad_input, resource: the
  /// file, what is wrong with it, and what to do; refused: its certificate is revoked.
  [[nodiscard]] static Result<std::shared_ptr<Credentials>> load(const std::string& directory, std::string_view group,
                                                                 NodeId self);
  /// The same for a process that only observes: the bundle of an observer or a member of the group, whose name does not
  /// matter. Errors: as load.
  [[nodiscard]] static Result<std::shared_ptr<Credentials>> load_observer(const std::string& directory,
                                                                          std::string_view group);

  /// The same for a process that only calls functions of members: the bundle of a client or a member of the group.
  /// Errors: as load.
  [[nodiscard]] static Result<std::shared_ptr<Credentials>> load_client(const std::string& directory,
                                                                        std::string_view group);

  /// For a new connection in either direction, with the newest keys. Errors: resource.
  [[nodiscard]] Result<Owned<SSL>> new_session() const;
  /// Behind `new_session`; outlives a reload for as long as somebody holds it.
  [[nodiscard]] std::shared_ptr<SSL_CTX> context() const;

  /// The identity that the peer has proven, after the handshake. Errors: refused, bad_input.
  [[nodiscard]] Result<Identity> peer_identity(const SSL& session) const;
  /// Whether such a peer may be the member that it says it is, or that was called: of this group, in the role of a member,
  /// with that id, which is not our own. Errors: refused.
  [[nodiscard]] Result<void> admit_member(const Identity& peer, NodeId claimed) const;
  /// Whether such a peer is a member of this group, whichever, but not this node. Errors: refused.
  [[nodiscard]] Result<void> admit_some_member(const Identity& peer) const;
  /// Whether such a peer may read what members deliver: of this group, an observer or a member. Errors: refused.
  [[nodiscard]] Result<void> admit_observer(const Identity& peer) const;
  /// Whether such a peer may call functions of this process: of this group, a client or a member. Errors: refused.
  [[nodiscard]] Result<void> admit_client(const Identity& peer) const;

  /// Looks whether the bundle's files have changed, and if so reads them; true: new connections use the new ones. Existing
  /// connections live on. Errors: as load, and bad_config if revoked.crl was there and is not; then all stays as it was, but
  /// that newer lists of revoked certificates come into force, and the next call tries again: files that are copied one by
  /// one do not fit together for a moment.
  [[nodiscard]] Result<bool> reload();
  /// Takes lists that a proved peer hands on, as `lists` gives them; true: some are newer than those in force, and are in
  /// force now. Errors: refused, if they are none or forged, which is the peer's fault; bad_config, if by them nobody would
  /// take this node's certificate though it is not revoked; resource.
  [[nodiscard]] Result<bool> take_lists(std::span<const std::byte> bytes);
  /// The lists in force, to be handed on; never null, empty if there are none. Those alone for which authorities of ours
  /// answer.
  [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> lists() const { return loaded().lists; }
  /// Whether this node's own certificate is on the lists in force.
  [[nodiscard]] bool revoked() const { return loaded().revoked; }
  /// A proved peer has ended its connection with that error. If it was because it holds this node's certificate for revoked,
  /// it has lists that this node lacks, and which it gives to nobody whom it refuses: its word is kept, and no more.
  void note_refusal(NodeId by, const Error& why);
  /// A call to that node failed, or came to be where there is no failure. Refusals are remembered, of up to 1024 nodes, for
  /// whoever tells why the node is missing.
  void note_call(NodeId to, const std::optional<Error>& failure);
  /// The peers that said so since this certificate came into force.
  [[nodiscard]] std::set<NodeId> who_say_revoked() const;
  /// Why there was no connection with that peer the last time, since this certificate came into force. Nothing: it is not
  /// known to be for a proof that one of the two did not take.
  [[nodiscard]] std::optional<Error> refusal_of(NodeId node) const;
  /// A number that grows whenever other keys or lists are in force.
  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_.load(std::memory_order_acquire); }

  /// Whether a peer, verified when it connected, would pass today's authorities and lists of revoked certificates; its
  /// connection is to be ended if not. A certificate that has expired meanwhile passes: to revoke is a decision, to forget
  /// is not. Errors: refused.
  [[nodiscard]] Result<void> recheck(const SSL& session) const;

  [[nodiscard]] const Identity& identity() const noexcept { return identity_; }
  /// The facts in force, from which a reader tells what a change has changed.
  [[nodiscard]] KeyFacts facts() const { return loaded().facts; }
  /// All that has changed since the last call, or since the beginning: of several threads one gets each change.
  [[nodiscard]] KeyChange take_change();
  /// The dates of our own certificate, the newest one.
  [[nodiscard]] Validity validity() const;

 private:
  /// The contents that a reload replaces.
  struct Loaded {
    std::shared_ptr<const Bundle> bundle;  ///< with the lists in force instead of those of the file
    std::shared_ptr<SSL_CTX> context;
    std::shared_ptr<const std::vector<std::byte>> lists;
    BundleStamp stamp;
    Validity validity;
    KeyFacts facts;
    bool has_revocations = false;  ///< the file
    bool revoked = false;
  };

  Credentials(std::string directory, Identity identity, Loaded loaded)
      : directory_(std::move(directory)),
        identity_(std::move(identity)),
        loaded_(std::move(loaded)),
        told_(loaded_.facts) {}

  struct RoleUse;  ///< what holders of one role beside members may do
  [[nodiscard]] static Result<std::shared_ptr<Credentials>> load_for(const std::string& directory, std::string_view group,
                                                                     const RoleUse& use);
  [[nodiscard]] Result<void> admit_for(const Identity& peer, const RoleUse& use) const;
  [[nodiscard]] static Result<std::shared_ptr<Credentials>> load_as(const std::string& directory, const BundleStamp& stamp,
                                                                    Bundle bundle, Identity identity);
  [[nodiscard]] static Result<Loaded> loaded_of(Bundle bundle, const BundleStamp& stamp, bool has_revocations);
  [[nodiscard]] Loaded loaded() const;
  void replace(Loaded now);
  [[nodiscard]] Result<Loaded> read_anew(const Loaded& before, const BundleStamp& stamp);
  [[nodiscard]] Result<bool> take(const RevocationLists& lists);

  const std::string directory_;
  const Identity identity_;
  std::mutex changes_;        ///< one change at a time
  mutable std::mutex mutex_;  ///< of what follows
  Loaded loaded_;
  KeyFacts told_;  ///< by `take_change`
  std::set<NodeId> say_revoked_;
  std::map<NodeId, Error> refusals_;
  std::atomic<std::uint64_t> revision_{1};
};

}  // namespace spindrift::fabric::tls
