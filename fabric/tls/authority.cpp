// The authority's files. The index is written before what it speaks of, so that nothing issued is ever unknown to it.
#include <spindrift/fabric/tls/authority.hpp>

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <spindrift/fabric/tls/bundle.hpp>

namespace spindrift::fabric::tls {
namespace {

using IfThere = KeyDirectory::IfThere;
using std::chrono::sys_seconds;

constexpr const char* index_file = "issued.json";
constexpr const char* authority_key_file = "authority.key";
constexpr unsigned secret_mode = 0400;
constexpr unsigned shown_mode = 0444;
constexpr unsigned index_mode = 0600;
constexpr std::chrono::hours clock_slack{1};

std::string authority_path(const std::string& group_directory) {
  return group_directory + "/" + std::string(authority_directory);
}

/// Makes it with mode 0700 if it does not exist; its parents, too.
Result<void> make_directory(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code failure;
  if (!parent.empty() && !std::filesystem::exists(parent, failure)) SPINDRIFT_TRY(make_directory(parent));
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Error(system_error("mkdir", errno)).at(path).fix("name a directory that you may write to with --dir");
}

Result<void> lock(const KeyDirectory& directory) {
  if (::flock(directory.descriptor(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return system_error("flock", errno).at(directory.path());
  return Error(ErrorKind::resource, "another process is making keys of this group")
      .at(directory.path())
      .fix("wait until it has ended, and try again");
}

Result<AuthorityIndex> index_in(const KeyDirectory& files) {
  SPINDRIFT_TRY_ASSIGN(const std::string text, files.read(index_file));
  auto index = AuthorityIndex::parse(text);
  if (!index) return std::move(index).error().at(files.path_of(index_file));
  return index;
}

Result<KeyPair> pair_in(const KeyDirectory& files) {
  SPINDRIFT_TRY_ASSIGN(const std::string text, files.read(authority_file));
  auto certificates = certificates_in(text);
  if (!certificates) return std::move(certificates).error().at(files.path_of(authority_file));
  SPINDRIFT_TRY_ASSIGN(const SecretText secret, files.read_secret(authority_key_file));
  auto key = private_key_in(secret.view());
  if (!key) return std::move(key).error().at(files.path_of(authority_key_file));
  if (X509_check_private_key(certificates->front().get(), key->get()) != 1) {
    static_cast<void>(openssl_complaint());
    return Error(ErrorKind::bad_config, fmt::format("the private key is not that of {}", authority_file))
        .at(files.path_of(authority_key_file))
        .fix("restore both files from a copy");
  }
  return KeyPair{std::move(*key), std::move(certificates->front())};
}

/// Peers refuse a certificate of an authority that has ended.
Result<void> check_within(const Validity& validity, const Validity& of_authority) {
  if (validity.until <= of_authority.until) return {};
  const auto left = std::chrono::floor<std::chrono::days>(of_authority.until - (validity.from + clock_slack)).count();
  return Error(ErrorKind::bad_argument,
               fmt::format("the certificate would hold until {}, and the authority that signs it ends {}",
                           time_text(validity.until), time_text(of_authority.until)))
      .fix(left > 0 ? fmt::format("give --days {} or fewer", left)
                    : std::string("make a new authority in another directory"));
}

/// Keys are not overwritten, whoever made them.
Result<void> check_no_keys(const std::string& bundle_directory) {
  std::error_code failure;
  if (!std::filesystem::exists(bundle_directory, failure)) return {};
  SPINDRIFT_TRY_ASSIGN(const KeyDirectory bundle, KeyDirectory::open(bundle_directory));
  if (!bundle.stamp(key_file) && !bundle.stamp(certificate_file)) return {};
  return Error(ErrorKind::bad_argument, "there are keys that this authority knows nothing of; they are not overwritten")
      .at(bundle_directory)
      .fix("move the directory away");
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

Error none_to_revoke(const std::string& whose, const std::string& place) {
  return Error(ErrorKind::bad_argument, "there is no certificate of " + whose + " that is not revoked yet")
      .at(place)
      .fix("look with spindrift keys show which there are");
}

}  // namespace

Validity valid_for(sys_seconds now, std::chrono::days days) { return {now - clock_slack, now + days}; }

std::string bundle_name(const Identity& identity) {
  return identity.role == Role::member ? identity.name : std::string(to_string(identity.role)) + "-" + identity.name;
}

Result<AuthorityIndex> read_index(const std::string& group_directory) {
  SPINDRIFT_TRY_ASSIGN(const KeyDirectory files, KeyDirectory::open(authority_path(group_directory)));
  return index_in(files);
}

Result<void> check_authority_key(const std::string& group_directory) {
  SPINDRIFT_TRY_ASSIGN(const KeyDirectory files, KeyDirectory::open(authority_path(group_directory)));
  if (files.stamp(authority_key_file)) SPINDRIFT_TRY(pair_in(files));
  return {};
}

Result<Authority> Authority::create(const std::string& group_directory, std::string_view group, const Validity& validity) {
  SPINDRIFT_TRY(Identity::of_member(group, NodeId(0)));  // whether that can be a group's name
  SPINDRIFT_TRY(make_directory(authority_path(group_directory)));
  SPINDRIFT_TRY_ASSIGN(KeyDirectory files, KeyDirectory::open(authority_path(group_directory)));
  SPINDRIFT_TRY(lock(files));
  if (files.stamp(authority_key_file)) {
    return Error(ErrorKind::bad_argument, "there is an authority already, and keys are not overwritten")
        .at(files.path())
        .fix("use spindrift keys add for more nodes; or name another directory with --dir");
  }
  SPINDRIFT_TRY_ASSIGN(KeyPair pair, make_authority(group, validity));
  SPINDRIFT_TRY_ASSIGN(const SecretText key, pem_of(*pair.key));
  SPINDRIFT_TRY_ASSIGN(const std::string certificate, pem_of(*pair.certificate));
  AuthorityIndex index;
  index.group = group;
  Authority made(group_directory, std::move(files), std::move(pair), std::move(index));
  SPINDRIFT_TRY(made.write_index());
  SPINDRIFT_TRY(made.files_.write({authority_file, certificate, shown_mode, IfThere::replace}));
  SPINDRIFT_TRY(made.files_.write({authority_key_file, key.view(), secret_mode, IfThere::refuse}));
  SPINDRIFT_TRY(made.write_revocations(validity.from));
  return made;
}

Result<Authority> Authority::open(const std::string& group_directory) {
  SPINDRIFT_TRY_ASSIGN(KeyDirectory files, KeyDirectory::open(authority_path(group_directory)));
  SPINDRIFT_TRY(lock(files));
  SPINDRIFT_TRY_ASSIGN(KeyPair pair, pair_in(files));
  SPINDRIFT_TRY_ASSIGN(AuthorityIndex index, index_in(files));
  return Authority(group_directory, std::move(files), std::move(pair), std::move(index));
}

std::string Authority::bundle_directory(const Identity& identity) const {
  return group_directory_ + "/" + bundle_name(identity);
}

bool Authority::has_issued(const Identity& identity) const {
  return std::any_of(issued().begin(), issued().end(),
                     [&](const IssuedCertificate& one) { return one.identity == identity; });
}

Result<void> Authority::can_begin_with(const std::string& group_directory, const Identity& identity,
                                       const Validity& validity, const Validity& of_authority) {
  SPINDRIFT_TRY(check_within(validity, of_authority));
  return check_no_keys(group_directory + "/" + bundle_name(identity));
}

Result<void> Authority::can_add(const Identity& identity, const Validity& validity) const {
  if (identity.group != group()) {
    return Error(ErrorKind::bad_argument,
                 fmt::format("this is the authority of the group {}, not of {}", group(), identity.group))
        .at(files_.path())
        .fix("name the directory of that group with --dir");
  }
  if (has_issued(identity)) {
    return Error(ErrorKind::bad_argument, identity.uri() + " has a key already")
        .at(bundle_directory(identity))
        .fix("use spindrift keys rotate for a new one");
  }
  SPINDRIFT_TRY_ASSIGN(const Validity own, validity_of(*pair_.certificate));
  return can_begin_with(group_directory_, identity, validity, own);
}

Result<IssuedCertificate> Authority::add(const Identity& identity, const Validity& validity) {
  SPINDRIFT_TRY(can_add(identity, validity));
  return issue(identity, validity, IfThere::refuse);
}

Result<void> Authority::can_rotate(const Identity& identity, const Validity& validity) const {
  if (!has_issued(identity)) {
    return Error(ErrorKind::bad_argument, identity.uri() + " has no key that could be replaced")
        .at(files_.path())
        .fix("use spindrift keys add");
  }
  SPINDRIFT_TRY_ASSIGN(const Validity own, validity_of(*pair_.certificate));
  return check_within(validity, own);
}

Result<IssuedCertificate> Authority::rotate(const Identity& identity, const Validity& validity) {
  SPINDRIFT_TRY(can_rotate(identity, validity));
  return issue(identity, validity, IfThere::replace);
}

Result<IssuedCertificate> Authority::issue(const Identity& identity, const Validity& validity, IfThere if_there) {
  SPINDRIFT_TRY(make_directory(bundle_directory(identity)));
  SPINDRIFT_TRY_ASSIGN(const KeyDirectory bundle, KeyDirectory::open(bundle_directory(identity)));
  SPINDRIFT_TRY_ASSIGN(const KeyPair pair, issue_certificate(pair_, identity, validity));
  SPINDRIFT_TRY_ASSIGN(const SecretText key, pem_of(*pair.key));
  SPINDRIFT_TRY_ASSIGN(const std::string certificate, pem_of(*pair.certificate));
  SPINDRIFT_TRY_ASSIGN(const std::string trusted, files_.read(authority_file));
  SPINDRIFT_TRY_ASSIGN(const std::string revoked, files_.read(revoked_file));
  const IssuedCertificate issued{identity, serial_of(*pair.certificate), validity, std::nullopt};
  index_.issued.push_back(issued);
  SPINDRIFT_TRY(write_index());
  const std::array<KeyDirectory::NewFile, 4> written{{{authority_file, trusted, shown_mode, IfThere::replace},
                                                      {revoked_file, revoked, shown_mode, IfThere::replace},
                                                      {key_file, key.view(), secret_mode, if_there},
                                                      {certificate_file, certificate, shown_mode, if_there}}};
  SPINDRIFT_TRY(bundle.write(written));
  return issued;
}

Result<void> Authority::can_revoke(const Identity& identity) const {
  const auto counts = [&](const IssuedCertificate& one) { return one.identity == identity && !one.revoked; };
  if (std::any_of(issued().begin(), issued().end(), counts)) return {};
  return none_to_revoke(identity.uri(), files_.path());
}

Result<std::size_t> Authority::revoke(const Identity& identity, sys_seconds now) {
  SPINDRIFT_TRY(can_revoke(identity));
  return revoke_where([&](const IssuedCertificate& one) { return one.identity == identity; }, now);
}

Result<std::size_t> Authority::revoke(std::string_view serial, sys_seconds now) {
  return revoke_where([wanted = upper_case(serial)](const IssuedCertificate& one) { return one.serial == wanted; }, now);
}

template <class Chosen>
Result<std::size_t> Authority::revoke_where(Chosen chosen, sys_seconds now) {
  std::size_t count = 0;
  for (IssuedCertificate& one : index_.issued) {
    if (!chosen(std::as_const(one)) || one.revoked) continue;
    one.revoked = now;
    ++count;
  }
  if (count == 0) return none_to_revoke("that serial number", files_.path());
  SPINDRIFT_TRY(write_revocations(now));
  return count;
}

Result<void> Authority::write_index() const {
  return files_.write({index_file, index_.to_json(), index_mode, IfThere::replace});
}

Result<void> Authority::write_revocations(sys_seconds now) {
  std::vector<Revocation> entries;
  for (const IssuedCertificate& one : issued()) {
    if (one.revoked) entries.push_back({one.serial, *one.revoked});
  }
  ++index_.lists;
  SPINDRIFT_TRY_ASSIGN(const Owned<X509_CRL> list, make_revocations(pair_, entries, index_.lists, now - clock_slack));
  SPINDRIFT_TRY_ASSIGN(const std::string text, pem_of(*list));
  SPINDRIFT_TRY(write_index());
  SPINDRIFT_TRY(files_.write({revoked_file, text, shown_mode, IfThere::replace}));
  std::set<std::string> bundles;
  for (const IssuedCertificate& one : issued()) bundles.insert(bundle_directory(one.identity));
  for (const std::string& path : bundles) {
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) continue;  // it is where it is used, and no longer here
    SPINDRIFT_TRY_ASSIGN(const KeyDirectory bundle, KeyDirectory::open(path));
    SPINDRIFT_TRY(bundle.write({revoked_file, text, shown_mode, IfThere::replace}));
  }
  return {};
}

}  // namespace spindrift::fabric::tls
