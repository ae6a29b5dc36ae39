// The contents of a stranger's certificate: the URI of an identity, certificates and lists in both of their forms, and any
// set of subject alternative names. One text is one identity and one identity one text; a certificate has an identity if
// exactly one of its names is of our scheme, and that one is well-formed.
#include "fuzz.hpp"

#include <openssl/err.h>

#include <string>

#include <spindrift/fabric/tls/certificate.hpp>

using namespace spindrift;
using namespace spindrift::fabric::tls;
using spindrift::fuzz::as_text;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

namespace {

void check_identity(const Identity& identity) {
  const auto again = Identity::parse(identity.uri());
  expect(again && *again == identity, "an identity survives its own text");
  expect(identity.group.size() <= 32 && identity.name.size() <= 64, "an identity has bounds");
  expect(identity.node().has_value() == (identity.role == Role::member), "members have a node, and nobody else does");
  const auto made = identity.role == Role::member ? Identity::of_member(identity.group, *identity.node())
                                                  : Identity::of_role(identity.group, identity.role, identity.name);
  expect(made && *made == identity, "what can be read can be made");
}

void check_uri(std::string_view text) {
  const auto identity = Identity::parse(text);
  if (!identity) return;
  expect(identity->uri() == text, "a text that is taken is the one that is written");
  expect(has_identity_scheme(text), "a text that is taken is of the scheme");
  check_identity(*identity);
}

void check_certificate(const X509& certificate) {
  if (const auto identity = identity_of(certificate)) check_identity(*identity);
  if (const auto validity = validity_of(certificate)) static_cast<void>(time_text(validity->until));
  expect(!serial_of(certificate).empty(), "every serial number has a text");
  const std::string claim = claim_of(certificate);
  expect(claim.size() <= 200, "a claim is short");
  for (const char c : claim) expect(c >= ' ' && c <= '~', "a claim can be printed");
}

void check_files(const std::uint8_t* data, std::size_t size) {
  const Owned<X509> certificate(d2i_X509(nullptr, &data, static_cast<long>(size)));
  if (certificate != nullptr) check_certificate(*certificate);
}

void check_texts(std::string_view text) {
  if (const auto certificates = certificates_in(text)) {
    expect(!certificates->empty(), "a text of certificates has one");
    for (const Owned<X509>& certificate : *certificates) check_certificate(*certificate);
  }
  if (const auto lists = revocations_in(text)) expect(!lists->empty(), "a text of lists has one");
}

/// A certificate with names of the input's choice: URIs of our scheme, other URIs, DNS names and addresses.
void check_names(Choices choices) {
  const Owned<X509> certificate(X509_new());
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  std::string ours;
  std::size_t count_of_ours = 0;
  for (std::uint64_t left = choices.choice(5); left > 0; --left) {
    const std::uint64_t kind = choices.choice(4);
    const auto bytes = choices.take(choices.choice(100));
    std::string text(kind == 0 ? "spindrift://" : "");
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    GENERAL_NAME* const name = GENERAL_NAME_new();
    ASN1_STRING* const value = ASN1_STRING_type_new(kind == 3 ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
    GENERAL_NAME_set0_value(name, kind < 2 ? GEN_URI : kind == 2 ? GEN_DNS : GEN_IPADD, value);
    sk_GENERAL_NAME_push(names.get(), name);
    if (kind >= 2 || !has_identity_scheme(text)) continue;
    ours = text;
    ++count_of_ours;
  }
  if (X509_add1_ext_i2d(certificate.get(), NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) return;
  const auto identity = identity_of(*certificate);
  expect(identity.ok() == (count_of_ours == 1 && Identity::parse(ours).ok()), "exactly one good name is an identity");
  expect(!identity || identity->uri() == ours, "it is that one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_uri(as_text(data, size));
  check_files(data, size);
  check_texts(as_text(data, size));
  check_names(Choices(data, size));
  ERR_clear_error();
  return 0;
}
