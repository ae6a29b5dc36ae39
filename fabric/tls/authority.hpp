// A group's own small authority: it makes the keys of the group's nodes and others, and takes them back. On disk, below one
// directory of mode 0700 for the group:
//
//   authority/authority.key    its private key, 0400: its holder can make any identity of the group
//   authority/authority.crt    its certificate, which all trust
//   authority/issued.json      what it has issued
//   authority/revoked.crl      what of that no longer counts, signed
//   2/, client-frontend/       a bundle for each identity (bundle.hpp), to be copied to its host
//
// The directory `authority` is needed where keys are made, and nowhere else.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/authority_index.hpp>
#include <spindrift/fabric/tls/identity.hpp>
#include <spindrift/fabric/tls/issuing.hpp>
#include <spindrift/fabric/tls/key_files.hpp>

namespace spindrift::fabric::tls {

inline constexpr std::string_view authority_directory = "authority";

/// From an hour before now on, so that clocks that are behind a little take it, for so many days.
[[nodiscard]] Validity valid_for(std::chrono::sys_seconds now, std::chrono::days days);

/// The directory of an identity's bundle below the group's directory: "2", "client-frontend".
[[nodiscard]] std::string bundle_name(const Identity& identity);
/// Reads which certificates an authority has issued, without its key. Errors: bad_config, bad_input, resource.
[[nodiscard]] Result<AuthorityIndex> read_index(const std::string& group_directory);
/// Whether the authority's key, if it lies there, is the one of its certificate, and nobody else may have read it. Errors:
/// bad_config, bad_input, resource.
[[nodiscard]] Result<void> check_authority_key(const std::string& group_directory);

/// Open, it holds a lock: there is one at a time for a group's directory. Move-only. Not thread-safe. Whatever it writes is
/// on disk when a function returns; a failure leaves no certificate that the index does not know.
class Authority {
 public:
  /// Makes the directory and an authority in it. Errors: bad_argument if there is one, bad_config, resource.
  [[nodiscard]] static Result<Authority> create(const std::string& group_directory, std::string_view group,
                                                const Validity& validity);
  /// Errors: bad_config, bad_input; resource, also if another process has it open.
  [[nodiscard]] static Result<Authority> open(const std::string& group_directory);

  [[nodiscard]] const std::string& group() const noexcept { return index_.group; }
  [[nodiscard]] const std::vector<IssuedCertificate>& issued() const noexcept { return index_.issued; }
  [[nodiscard]] std::string bundle_directory(const Identity& identity) const;

  /// Whether `add`, `rotate` or `revoke` would do it, so that of several none is done before all can be. Errors: as theirs.
  [[nodiscard]] Result<void> can_add(const Identity& identity, const Validity& validity) const;
  [[nodiscard]] Result<void> can_rotate(const Identity& identity, const Validity& validity) const;
  [[nodiscard]] Result<void> can_revoke(const Identity& identity) const;
  /// The same as can_add of an authority that is still to be made in that directory, for as long as `validity`.
  [[nodiscard]] static Result<void> can_begin_with(const std::string& group_directory, const Identity& identity,
                                                   const Validity& validity, const Validity& of_authority);

  /// Makes a key and a bundle for an identity that has none. Errors: bad_argument if it has one, is of another group, or its
  /// certificate would outlive the authority's; bad_config, resource.
  [[nodiscard]] Result<IssuedCertificate> add(const Identity& identity, const Validity& validity);
  /// Makes a new key and certificate for an identity that has had one, and puts them into its bundle. The one before counts
  /// until it expires or is revoked. Errors: bad_argument, bad_config, resource.
  [[nodiscard]] Result<IssuedCertificate> rotate(const Identity& identity, const Validity& validity);
  /// Revokes every certificate of an identity that counts, and puts the new list into all bundles that lie here. Says how
  /// many those are; none is an error. Errors: bad_argument, bad_config, resource.
  [[nodiscard]] Result<std::size_t> revoke(const Identity& identity, std::chrono::sys_seconds now);
  /// Revokes the one with that serial number, in upper or lower case. Errors: as above.
  [[nodiscard]] Result<std::size_t> revoke(std::string_view serial, std::chrono::sys_seconds now);

 private:
  Authority(std::string group_directory, KeyDirectory files, KeyPair pair, AuthorityIndex index)
      : group_directory_(std::move(group_directory)),
        files_(std::move(files)),
        pair_(std::move(pair)),
        index_(std::move(index)) {}

  [[nodiscard]] bool has_issued(const Identity& identity) const;
  [[nodiscard]] Result<IssuedCertificate> issue(const Identity& identity, const Validity& validity,
                                                KeyDirectory::IfThere if_there);
  [[nodiscard]] Result<void> write_index() const;
  [[nodiscard]] Result<void> write_revocations(std::chrono::sys_seconds now);
  template <class Chosen>
  [[nodiscard]] Result<std::size_t> revoke_where(Chosen chosen, std::chrono::sys_seconds now);

  std::string group_directory_;
  KeyDirectory files_;
  KeyPair pair_;
  AuthorityIndex index_;
};

}  // namespace spindrift::fabric::tls
