// A certificate is judged once, and each signature is verified.
#include <spindrift/group/signature_judge.hpp>

#include <chrono>
#include <utility>

namespace spindrift::group {
namespace {

using fabric::tls::Signer;
using fabric::tls::SignerState;

bool was_valid(const fabric::tls::Validity& validity, std::uint64_t time_ns) noexcept {
  const std::chrono::sys_seconds at(std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds(time_ns)));
  return validity.from <= at && at <= validity.until;
}

/// The authority's certificate of the journal's own node, and no other.
void require_owner(Signer& signer, const store::JournalOwner& owner) {
  if (signer.state == SignerState::unknown) return;
  const auto& identity = signer.identity;
  if (identity && identity->node() == owner.node && digest_of(identity->group) == owner.group) return;
  signer.state = SignerState::unknown;
  signer.why = "its certificate is that of " + (identity ? identity->uri() : std::string("nobody")) +
               ", and the journal is another node's";
}

}  // namespace

std::size_t SignatureJudge::known(const std::vector<std::byte>& certificates) {
  const auto [place, is_new] = by_certificates_.try_emplace(certificates, known_.size());
  if (!is_new) return place->second;
  Known one{trust_.signer(certificates)};
  require_owner(one.signer, owner_);
  known_.push_back(std::move(one));
  return place->second;
}

SignatureState SignatureJudge::state_of(const LogSignature& signature, const Signer& signer) const {
  if (signer.state == SignerState::unknown || signature.node != owner_.node) return SignatureState::unknown;
  if (!signer.has_signed(signed_text(signer.identity->group, signature), signature.signature)) return SignatureState::forged;
  if (!signer.validity || !was_valid(*signer.validity, signature.time)) return SignatureState::untimely;
  return signer.state == SignerState::revoked ? SignatureState::revoked : SignatureState::good;
}

SignatureMark SignatureJudge::judge(const LogSignature& signature) {
  const std::size_t which = known(signature.certificates);
  Known& one = known_[which];
  ++one.signatures;
  const SignatureState state = state_of(signature, one.signer);
  if (state == SignatureState::good && group_.empty()) group_ = one.signer.identity->group;
  return {signature.chain, state, which};
}

}  // namespace spindrift::group
