// Reading, checking and comparing lists. What comes from a peer is read here after the peer has proved who it is.
#include <spindrift/fabric/tls/revocation_lists.hpp>

#include <openssl/err.h>

#include <algorithm>

namespace spindrift::fabric::tls {
namespace {

template <class Object>
Owned<Object> extension_of(const X509_CRL& list, int kind) {
  Owned<Object> extension(static_cast<Object*>(X509_CRL_get_ext_d2i(&list, kind, nullptr, nullptr)));
  ERR_clear_error();
  return extension;
}

bool is_whole(const X509_CRL& list) {
  return X509_CRL_get_ext_by_NID(&list, NID_delta_crl, -1) < 0 &&
         X509_CRL_get_ext_by_NID(&list, NID_issuing_distribution_point, -1) < 0;
}

/// The certificate that the list names as its issuer's: an authority of the same name may have another key. Null: there is
/// none.
X509* issuer_of(const X509_CRL& list, const Bundle& bundle) {
  if (!is_whole(list)) return nullptr;
  const auto key_id = extension_of<AUTHORITY_KEYID>(list, NID_authority_key_identifier);
  const auto issues = [&](const Owned<X509>& certificate) {
    return X509_NAME_cmp(X509_get_subject_name(certificate.get()), X509_CRL_get_issuer(&list)) == 0 &&
           (key_id == nullptr || X509_check_akid(certificate.get(), key_id.get()) == X509_V_OK);
  };
  const auto authority = std::find_if(bundle.authorities.begin(), bundle.authorities.end(), issues);
  if (authority != bundle.authorities.end()) return authority->get();
  const auto between = std::find_if(bundle.chain.begin() + 1, bundle.chain.end(), issues);
  return between == bundle.chain.end() ? nullptr : between->get();
}

bool is_newer(const X509_CRL& list, const X509_CRL& than) {
  const auto number = extension_of<ASN1_INTEGER>(list, NID_crl_number);
  const auto other = extension_of<ASN1_INTEGER>(than, NID_crl_number);
  if (number != nullptr && other != nullptr) return ASN1_INTEGER_cmp(number.get(), other.get()) > 0;
  return ASN1_TIME_compare(X509_CRL_get0_lastUpdate(&list), X509_CRL_get0_lastUpdate(&than)) == 1;
}

Owned<X509_CRL> same(const Owned<X509_CRL>& list) {
  X509_CRL_up_ref(list.get());
  return Owned<X509_CRL>(list.get());
}

}  // namespace

Result<RevocationLists> lists_in(std::span<const std::byte> bytes) {
  RevocationLists lists;
  while (!bytes.empty()) {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    const auto* const begin = at;
    Owned<X509_CRL> list(d2i_X509_CRL(nullptr, &at, static_cast<long>(bytes.size())));
    if (list == nullptr) return openssl_error(ErrorKind::bad_input, "a list of revoked certificates cannot be read");
    lists.push_back(std::move(list));
    bytes = bytes.subspan(static_cast<std::size_t>(at - begin));
  }
  return lists;
}

Result<std::vector<std::byte>> bytes_of(const RevocationLists& lists) {
  std::vector<std::byte> bytes;
  for (const Owned<X509_CRL>& list : lists) {
    unsigned char* text = nullptr;
    const int size = i2d_X509_CRL(list.get(), &text);
    if (size < 0) return openssl_error(ErrorKind::resource, "a list of revoked certificates cannot be written");
    const auto* const begin = reinterpret_cast<const std::byte*>(text);
    bytes.insert(bytes.end(), begin, begin + size);
    OPENSSL_free(text);
  }
  return bytes;
}

RevocationLists shared(const RevocationLists& lists) {
  RevocationLists again;
  for (const Owned<X509_CRL>& list : lists) again.push_back(same(list));
  return again;
}

Result<RevocationLists> lists_that_count(const RevocationLists& lists, const Bundle& bundle) {
  RevocationLists counting;
  for (const Owned<X509_CRL>& list : lists) {
    X509* const issuer = issuer_of(*list, bundle);
    if (issuer == nullptr) continue;
    if (X509_CRL_verify(list.get(), X509_get0_pubkey(issuer)) != 1) {
      ERR_clear_error();
      return Error(ErrorKind::refused, "a list of revoked certificates is not signed by the authority that it names");
    }
    counting.push_back(same(list));
  }
  return counting;
}

NewestLists newest_of(const RevocationLists& base, const RevocationLists& others, const Bundle& bundle) {
  NewestLists newest{shared(base)};
  for (const Owned<X509_CRL>& list : others) {
    const X509* const issuer = issuer_of(*list, bundle);
    if (issuer == nullptr) continue;
    const auto at = std::find_if(newest.lists.begin(), newest.lists.end(),
                                 [&](const auto& each) { return issuer_of(*each, bundle) == issuer; });
    if (at != newest.lists.end() && !is_newer(*list, **at)) continue;
    newest.any_newer = true;
    if (at == newest.lists.end())
      newest.lists.push_back(same(list));
    else
      *at = same(list);
  }
  return newest;
}

}  // namespace spindrift::fabric::tls
