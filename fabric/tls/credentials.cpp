// Loading, reloading and judging by what was loaded.
#include <spindrift/fabric/tls/credentials.hpp>

#include <openssl/err.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/log.hpp>

namespace spindrift::fabric::tls {
namespace {

Error not_admitted(const Identity& peer, std::string why, std::string fix) {
  return Error(ErrorKind::refused, fmt::format("{} is not admitted: {}", peer.uri(), why)).fix(std::move(fix));
}

std::chrono::sys_seconds this_second() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

KeyFacts facts_of(const Bundle& bundle) {
  KeyFacts facts{shown_by(bundle.certificate()), {}, {}};
  for (const auto& authority : bundle.authorities) facts.authorities.insert(fingerprint_of(*authority));
  for (const auto& list : bundle.revoked) facts.revoked.merge(serials_in(*list));
  return facts;
}

}  // namespace

Result<std::shared_ptr<Credentials>> Credentials::load(const std::string& directory, std::string_view group, NodeId self) {
  protect_private_keys();
  SPINDRIFT_TRY_ASSIGN(Identity identity, Identity::of_member(group, self));
  // Before the files are read: one that changes meanwhile is read again by the next reload.
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(directory));
  SPINDRIFT_TRY_ASSIGN(Bundle bundle, read_bundle(directory));
  return load_as(directory, stamp, std::move(bundle), std::move(identity));
}

struct Credentials::RoleUse {
  Role role;
  std::string_view does;   ///< as in "may not observe"
  std::string_view named;  ///< the option that names the directory
  static const RoleUse observes, calls;
  [[nodiscard]] bool allows(Role other) const noexcept { return other == Role::member || other == role; }
};
constinit const Credentials::RoleUse Credentials::RoleUse::observes{Role::observer, "observe", "[SPINDRIFT] keys"};
constinit const Credentials::RoleUse Credentials::RoleUse::calls{Role::client, "call", "ClientOptions.keys"};

Result<std::shared_ptr<Credentials>> Credentials::load_observer(const std::string& directory, std::string_view group) {
  return load_for(directory, group, RoleUse::observes);
}

Result<std::shared_ptr<Credentials>> Credentials::load_client(const std::string& directory, std::string_view group) {
  return load_for(directory, group, RoleUse::calls);
}

Result<std::shared_ptr<Credentials>> Credentials::load_for(const std::string& directory, std::string_view group,
                                                           const RoleUse& use) {
  protect_private_keys();
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(directory));
  SPINDRIFT_TRY_ASSIGN(Bundle bundle, read_bundle(directory));
  SPINDRIFT_TRY_ASSIGN(Identity identity, identity_in(bundle));
  if (identity.group != group || !use.allows(identity.role)) {
    return Error(ErrorKind::refused,
                 fmt::format("these are the keys of {}, which may not {} group {}", identity.uri(), use.does, group))
        .at(directory + "/" + certificate_file)
        .fix(fmt::format("make others with spindrift keys add {} --{} NAME, and name their directory in {}", group,
                         to_string(use.role), use.named));
  }
  return load_as(directory, stamp, std::move(bundle), std::move(identity));
}

Result<std::shared_ptr<Credentials>> Credentials::load_as(const std::string& directory, const BundleStamp& stamp,
                                                          Bundle bundle, Identity identity) {
  SPINDRIFT_TRY(check_bundle(bundle, identity, this_second()));
  const bool has_revocations = !bundle.revoked.empty();
  SPINDRIFT_TRY_ASSIGN(Loaded loaded, loaded_of(std::move(bundle), stamp, has_revocations));
  return std::shared_ptr<Credentials>(new Credentials(directory, std::move(identity), std::move(loaded)));
}

Result<Credentials::Loaded> Credentials::loaded_of(Bundle bundle, const BundleStamp& stamp, bool has_revocations) {
  SPINDRIFT_TRY_ASSIGN(const Validity validity, validity_of(bundle.certificate()));
  SPINDRIFT_TRY_ASSIGN(Owned<SSL_CTX> context, make_context(bundle));
  const auto lists = lists_that_count(bundle.revoked, bundle);
  if (!lists) {
    return Error(ErrorKind::bad_config, lists.error().message())
        .at(bundle.directory + "/" + revoked_file)
        .fix("copy the file anew from where the authority is");
  }
  SPINDRIFT_TRY_ASSIGN(auto bytes, bytes_of(*lists));
  KeyFacts facts = facts_of(bundle);
  return Loaded{std::make_shared<const Bundle>(std::move(bundle)),
                std::shared_ptr<SSL_CTX>(std::move(context)),
                std::make_shared<const std::vector<std::byte>>(std::move(bytes)),
                stamp,
                validity,
                std::move(facts),
                has_revocations,
                false};
}

KeyChange Credentials::take_change() {
  const std::lock_guard lock(mutex_);
  return {std::exchange(told_, loaded_.facts), loaded_.facts};
}

Credentials::Loaded Credentials::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

Result<Owned<SSL>> Credentials::new_session() const {
  Owned<SSL> session(SSL_new(context().get()));
  if (session == nullptr) return openssl_error(ErrorKind::resource, "there is no memory for a TLS session");
  return session;
}

std::shared_ptr<SSL_CTX> Credentials::context() const { return loaded().context; }

Validity Credentials::validity() const { return loaded().validity; }

Result<Identity> Credentials::peer_identity(const SSL& session) const {
  SPINDRIFT_TRY(check_session(session));
  return identity_of(*SSL_get0_peer_certificate(&session));
}

Result<void> Credentials::admit_some_member(const Identity& peer) const {
  if (peer.group != identity_.group) {
    return not_admitted(peer, fmt::format("this is the group {}", identity_.group),
                        "let each group listen at addresses of its own, and have an authority of its own");
  }
  if (peer.role != Role::member) {
    return not_admitted(peer, fmt::format("it is no member, but has the role {}", to_string(peer.role)),
                        "make it a key as a member: spindrift keys add GROUP --nodes ID");
  }
  if (peer.node() == identity_.node())
    return not_admitted(peer, "that is this node", "give each node a key of its own, and look who has copied this one");
  return {};
}

Result<void> Credentials::admit_member(const Identity& peer, NodeId claimed) const {
  SPINDRIFT_TRY(admit_some_member(peer));
  if (peer.node() == claimed) return {};
  return not_admitted(peer, fmt::format("it says that it is node {}", claimed.value()),
                      "correct addresses, or local_id and keys of that node");
}

Result<void> Credentials::admit_for(const Identity& peer, const RoleUse& use) const {
  if (peer.group != identity_.group)
    return not_admitted(peer, fmt::format("this is the group {}", identity_.group), "use keys of this group's authority");
  if (use.allows(peer.role)) return {};
  return not_admitted(peer,
                      fmt::format("it has the role {}, and members and {}s alone may {}", to_string(peer.role),
                                  to_string(use.role), use.does),
                      fmt::format("make it a key as {} {}: spindrift keys add GROUP --{} NAME",
                                  use.role == Role::observer ? "an" : "a", to_string(use.role), to_string(use.role)));
}

Result<void> Credentials::admit_observer(const Identity& peer) const { return admit_for(peer, RoleUse::observes); }

Result<void> Credentials::admit_client(const Identity& peer) const { return admit_for(peer, RoleUse::calls); }

void Credentials::replace(Loaded now) {
  const std::lock_guard lock(mutex_);
  if (now.facts.own.serial != loaded_.facts.own.serial) {
    say_revoked_.clear();
    refusals_.clear();
  }
  loaded_ = std::move(now);
  revision_.fetch_add(1, std::memory_order_release);
}

void Credentials::note_refusal(NodeId by, const Error& why) {
  note_call(by, why);
  const std::lock_guard lock(mutex_);
  if (tells_revocation(why)) say_revoked_.insert(by);
}

void Credentials::note_call(NodeId to, const std::optional<Error>& failure) {
  constexpr std::size_t refusals_max = 1024;
  const std::lock_guard lock(mutex_);
  if (!failure) {
    refusals_.erase(to);
  } else if (failure->kind() == ErrorKind::refused && (refusals_.size() < refusals_max || refusals_.contains(to))) {
    refusals_.insert_or_assign(to, *failure);
  }
}

std::optional<Error> Credentials::refusal_of(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = refusals_.find(node);
  return found == refusals_.end() ? std::nullopt : std::optional(found->second);
}

std::set<NodeId> Credentials::who_say_revoked() const {
  const std::lock_guard lock(mutex_);
  return say_revoked_;
}

Result<bool> Credentials::reload() {
  const std::lock_guard lock(changes_);
  const Loaded before = loaded();
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(directory_));
  if (stamp == before.stamp) return false;
  SPINDRIFT_TRY_ASSIGN(Loaded now, read_anew(before, stamp));
  replace(std::move(now));
  return true;
}

// Files that do not fit together may still hold a newer list, which counts at once: above all one that says that this node's
// own certificate does not.
Result<Credentials::Loaded> Credentials::read_anew(const Loaded& before, const BundleStamp& stamp) {
  SPINDRIFT_TRY_ASSIGN(const Bundle files, read_bundle(directory_));
  if (before.has_revocations && files.revoked.empty()) {
    return Error(ErrorKind::bad_config, "the list of revoked certificates is gone, so the keys before stay in use")
        .at(directory_ + "/" + revoked_file)
        .fix("copy the file anew from where the authority is, or restart the node if it is to go without");
  }
  NewestLists newest = newest_of(files.revoked, before.bundle->revoked, files);
  Bundle merged = with_lists(files, std::move(newest.lists));
  if (auto good = check_bundle(merged, identity_, this_second()); !good) {
    static_cast<void>(take(files.revoked));
    return std::move(good).error();
  }
  if (newest.any_newer)
    log::warn(log::Room::fabric, "a newer list of revoked certificates than the file's stays in force",
              {{"file", directory_ + "/" + revoked_file}});
  return loaded_of(std::move(merged), stamp, !files.revoked.empty());
}

Result<bool> Credentials::take_lists(std::span<const std::byte> bytes) {
  if (const auto ours = lists(); std::ranges::equal(*ours, bytes)) return false;
  auto lists = lists_in(bytes);
  if (!lists) return Error(ErrorKind::refused, lists.error().message());
  const std::lock_guard lock(changes_);
  return take(*lists);
}

/// While nobody else makes a change.
Result<bool> Credentials::take(const RevocationLists& lists) {
  const Loaded before = loaded();
  SPINDRIFT_TRY_ASSIGN(const RevocationLists counting, lists_that_count(lists, *before.bundle));
  NewestLists newest = newest_of(before.bundle->revoked, counting, *before.bundle);
  if (!newest.any_newer) return false;
  Bundle bundle = with_lists(*before.bundle, std::move(newest.lists));
  SPINDRIFT_TRY_ASSIGN(const int verdict, own_verdict(bundle, this_second()));
  const bool revoked = verdict == X509_V_ERR_CERT_REVOKED;
  const bool dated = verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID;
  if (verdict != X509_V_OK && !revoked && !dated) {
    return Error(ErrorKind::bad_config,
                 fmt::format("by newer lists of revoked certificates nobody would take this node's: {}",
                             X509_verify_cert_error_string(verdict)))
        .fix("compare the clocks of the hosts; copy revoked.crl of all authorities to all nodes");
  }
  SPINDRIFT_TRY_ASSIGN(Loaded now, loaded_of(std::move(bundle), before.stamp, before.has_revocations));
  now.revoked = revoked;
  replace(std::move(now));
  return true;
}

Result<void> Credentials::recheck(const SSL& session) const {
  const std::shared_ptr<SSL_CTX> today = context();
  X509* const certificate = SSL_get0_peer_certificate(&session);
  const Owned<X509_STORE_CTX> verification(X509_STORE_CTX_new());
  if (certificate == nullptr || verification == nullptr ||
      X509_STORE_CTX_init(verification.get(), SSL_CTX_get_cert_store(today.get()), certificate,
                          SSL_get_peer_cert_chain(&session)) != 1) {
    return openssl_error(ErrorKind::refused, "the peer's certificate cannot be looked at again");
  }
  X509_STORE_CTX_set_flags(verification.get(), X509_V_FLAG_NO_CHECK_TIME);
  X509_STORE_CTX_set_verify_cb(verification.get(), accept_unlisted_issuers);
  const bool accepted = X509_verify_cert(verification.get()) == 1;
  const int verdict = X509_STORE_CTX_get_error(verification.get());
  ERR_clear_error();
  if (accepted) return {};
  return Error(ErrorKind::refused,
               fmt::format("the certificate of {}, serial number {}, no longer holds: {}", claim_of(*certificate),
                           serial_of(*certificate), X509_verify_cert_error_string(verdict)))
      .fix("give the node a new certificate, if it is to come back");
}

}  // namespace spindrift::fabric::tls
