// Reads a bundle and finds out what is wrong with it before a peer does.
#include <spindrift/fabric/tls/bundle.hpp>

#include <openssl/err.h>

#include <utility>

#include <fmt/format.h>

namespace spindrift::fabric::tls {
namespace {

constexpr std::array<const char*, 4> file_names{authority_file, certificate_file, key_file, revoked_file};

/// That a file of a bundle is not what it should be: a matter of the configuration, as all that is wrong with keys.
Error unfit(const Error& why, std::string place) {
  const std::string fix = "copy all files of this node's directory anew from where its authority is";
  return Error(ErrorKind::bad_config, why.message()).at(std::move(place)).fix(why.fix().empty() ? fix : why.fix());
}

/// Reads one file's text as what it holds; errors name the file.
template <class Objects>
Result<Objects> read_objects(const KeyDirectory& directory, const char* name, Result<Objects> (*take)(std::string_view)) {
  SPINDRIFT_TRY_ASSIGN(const std::string text, directory.read(name));
  auto objects = take(text);
  if (!objects) return unfit(objects.error(), directory.path_of(name));
  return objects;
}

Result<void> check_identity(const Bundle& bundle, const Identity& wanted, const std::string& place) {
  SPINDRIFT_TRY_ASSIGN(const Identity identity, identity_in(bundle));
  if (identity == wanted) return {};
  return Error(ErrorKind::bad_config, fmt::format("the certificate is that of {}, not of {}", identity.uri(), wanted.uri()))
      .at(place)
      .fix("copy the directory of this node, or correct [SPINDRIFT] keys, group_name or the node's id");
}

Result<void> check_validity(const Bundle& bundle, std::chrono::sys_seconds now, const std::string& place) {
  SPINDRIFT_TRY_ASSIGN(const Validity validity, validity_of(bundle.certificate()));
  const std::string dates = fmt::format("it holds from {} until {}, and the clock of this host says {}",
                                        time_text(validity.from), time_text(validity.until), time_text(now));
  if (now < validity.from) {
    return Error(ErrorKind::bad_config, "the certificate is not valid yet: " + dates)
        .at(place)
        .fix("set the clock of this host, or of the one that issued the certificate");
  }
  if (now > validity.until) {
    return Error(ErrorKind::bad_config, "the certificate has expired: " + dates)
        .at(place)
        .fix("set the clock if it is wrong; else make a new one with spindrift keys rotate and copy it here");
  }
  return {};
}

Result<void> check_accepted(const Bundle& bundle, X509_STORE& trust, int purpose, std::chrono::sys_seconds now) {
  const int verdict = verdict_on(bundle.chain, trust, purpose, now);
  if (verdict == X509_V_OK) return {};
  const bool revoked = verdict == X509_V_ERR_CERT_REVOKED && revoked_since(bundle);  // and not one that vouches for it
  if (revoked) return own_certificate_revoked(bundle.directory + "/" + certificate_file);
  return Error(ErrorKind::bad_config, fmt::format("peers with the same {} and {} would refuse the certificate: {}",
                                                  authority_file, revoked_file, X509_verify_cert_error_string(verdict)))
      .at(bundle.directory + "/" + certificate_file)
      .fix(
          "copy all files of this node's directory anew from where its authority is, or issue the certificate anew; it "
          "needs the usages clientAuth and serverAuth, or none");
}

}  // namespace

Error own_certificate_revoked(std::string place) {
  return Error(ErrorKind::refused, "this node's certificate is revoked")
      .at(std::move(place))
      .fix("give the node a new certificate, if it is to come back: spindrift keys rotate");
}

Result<BundleStamp> stamp_of(const std::string& directory) {
  SPINDRIFT_TRY_ASSIGN(const KeyDirectory opened, KeyDirectory::open(directory));
  BundleStamp stamp;
  for (std::size_t i = 0; i < file_names.size(); ++i) stamp[i] = opened.stamp(file_names[i]);
  return stamp;
}

Result<Bundle> read_bundle(const std::string& directory) {
  SPINDRIFT_TRY_ASSIGN(const KeyDirectory opened, KeyDirectory::open(directory));
  Bundle bundle;
  bundle.directory = directory;
  SPINDRIFT_TRY_ASSIGN(bundle.authorities, read_objects(opened, authority_file, certificates_in));
  SPINDRIFT_TRY_ASSIGN(bundle.chain, read_objects(opened, certificate_file, certificates_in));
  if (opened.stamp(revoked_file)) {
    SPINDRIFT_TRY_ASSIGN(bundle.revoked, read_objects(opened, revoked_file, revocations_in));
  }
  SPINDRIFT_TRY_ASSIGN(const SecretText secret, opened.read_secret(key_file));
  auto key = private_key_in(secret.view());
  if (!key) return unfit(key.error(), opened.path_of(key_file));
  bundle.key = std::move(*key);
  return bundle;
}

std::optional<std::chrono::sys_seconds> revoked_since(const Bundle& bundle) {
  for (const Owned<X509_CRL>& list : bundle.revoked) {
    X509_REVOKED* entry = nullptr;
    if (X509_CRL_get0_by_cert(list.get(), &entry, bundle.chain.front().get()) != 1) continue;
    if (const auto time = time_of(*X509_REVOKED_get0_revocationDate(entry))) return *time;
  }
  return std::nullopt;
}

Result<Identity> identity_in(const Bundle& bundle) {
  auto identity = identity_of(bundle.certificate());
  if (!identity) return unfit(identity.error(), bundle.directory + "/" + certificate_file);
  return identity;
}

Result<Owned<X509_STORE>> trust_of(const Bundle& bundle) {
  Owned<X509_STORE> trust(X509_STORE_new());
  bool good = trust != nullptr;
  for (const Owned<X509>& authority : bundle.authorities)
    good = good && X509_STORE_add_cert(trust.get(), authority.get()) == 1;
  for (const Owned<X509_CRL>& list : bundle.revoked) good = good && X509_STORE_add_crl(trust.get(), list.get()) == 1;
  // An authority that the file authority.crt names is trusted, be it signed by somebody else.
  unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST;
  // A lone list is that of the nodes' issuer, or no node passes; to look its issuer up in it costs every handshake another
  // verification of the list, and finds nothing.
  if (!bundle.revoked.empty()) flags |= X509_V_FLAG_CRL_CHECK;
  if (bundle.revoked.size() > 1) flags |= X509_V_FLAG_CRL_CHECK_ALL;
  good = good && X509_STORE_set_flags(trust.get(), flags) == 1;
  if (!good) return openssl_error(ErrorKind::resource, "the certificates cannot be gathered").at(bundle.directory);
  return trust;
}

Bundle with_lists(const Bundle& bundle, std::vector<Owned<X509_CRL>> revoked) {
  const auto same = [](const Owned<X509>& certificate) {
    X509_up_ref(certificate.get());
    return Owned<X509>(certificate.get());
  };
  Bundle again;
  again.directory = bundle.directory;
  for (const Owned<X509>& authority : bundle.authorities) again.authorities.push_back(same(authority));
  for (const Owned<X509>& certificate : bundle.chain) again.chain.push_back(same(certificate));
  EVP_PKEY_up_ref(bundle.key.get());
  again.key.reset(bundle.key.get());
  again.revoked = std::move(revoked);
  return again;
}

Result<int> own_verdict(const Bundle& bundle, std::chrono::sys_seconds now) {
  SPINDRIFT_TRY_ASSIGN(const Owned<X509_STORE> trust, trust_of(bundle));
  return verdict_on(bundle.chain, *trust, X509_PURPOSE_SSL_CLIENT, now);
}

int verdict_on(const std::vector<Owned<X509>>& chain, X509_STORE& trust, int purpose,
               std::optional<std::chrono::sys_seconds> at) {
  const Owned<X509_STORE_CTX> verification(X509_STORE_CTX_new());
  STACK_OF(X509)* between = sk_X509_new_null();
  for (const Owned<X509>& certificate : chain) sk_X509_push(between, certificate.get());
  int verdict = X509_V_ERR_OUT_OF_MEM;  // unless it can begin
  if (verification != nullptr && X509_STORE_CTX_init(verification.get(), &trust, chain.front().get(), between) == 1) {
    X509_VERIFY_PARAM* const terms = X509_STORE_CTX_get0_param(verification.get());
    if (at) X509_VERIFY_PARAM_set_time(terms, std::chrono::system_clock::to_time_t(*at));
    else X509_VERIFY_PARAM_set_flags(terms, X509_V_FLAG_NO_CHECK_TIME);
    X509_STORE_CTX_set_purpose(verification.get(), purpose);
    X509_STORE_CTX_set_verify_cb(verification.get(), accept_unlisted_issuers);
    const bool accepted = X509_verify_cert(verification.get()) == 1;
    const int complaint = X509_STORE_CTX_get_error(verification.get());
    verdict = accepted ? X509_V_OK : complaint == X509_V_OK ? X509_V_ERR_UNSPECIFIED : complaint;
  }
  sk_X509_free(between);
  ERR_clear_error();
  return verdict;
}

int accept_unlisted_issuers(int so_far, X509_STORE_CTX* verification) {
  const bool unlisted = X509_STORE_CTX_get_error(verification) == X509_V_ERR_UNABLE_TO_GET_CRL &&
                        X509_STORE_CTX_get_error_depth(verification) > 0;
  if (so_far == 1 || !unlisted) return so_far;
  X509_STORE_CTX_set_error(verification, X509_V_OK);
  return 1;
}

Result<void> check_bundle(const Bundle& bundle, const Identity& wanted, std::chrono::sys_seconds now) {
  const std::string place = bundle.directory + "/" + certificate_file;
  SPINDRIFT_TRY(check_identity(bundle, wanted, place));
  SPINDRIFT_TRY(check_validity(bundle, now, place));
  if (X509_check_private_key(&bundle.certificate(), bundle.key.get()) != 1) {
    ERR_clear_error();
    return Error(ErrorKind::bad_config, fmt::format("the private key is not that of {}", certificate_file))
        .at(bundle.directory + "/" + key_file)
        .fix("copy both files anew from where they were made, for one of them is older than the other");
  }
  SPINDRIFT_TRY_ASSIGN(const Owned<X509_STORE> trust, trust_of(bundle));
  SPINDRIFT_TRY(check_accepted(bundle, *trust, X509_PURPOSE_SSL_CLIENT, now));
  return check_accepted(bundle, *trust, X509_PURPOSE_SSL_SERVER, now);
}

}  // namespace spindrift::fabric::tls
