// The signatures in a journal as a third party sees them, each by itself: who made it, and whether that counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <spindrift/fabric/tls/signing.hpp>
#include <spindrift/group/log_proof.hpp>
#include <spindrift/group/log_signature.hpp>
#include <spindrift/store/format.hpp>

namespace spindrift::group {

class SignatureJudge {
 public:
  struct Known {
    fabric::tls::Signer signer;
    std::uint64_t signatures = 0;
  };
  /// `owner`: of the journal; nobody else's signatures count there. `trust` outlives it.
  SignatureJudge(const fabric::tls::SignerTrust& trust, const store::JournalOwner& owner) : trust_(trust), owner_(owner) {}

  [[nodiscard]] SignatureMark judge(const LogSignature& signature);
  /// All that have been seen, in their order, as SignatureMark::signer counts them.
  [[nodiscard]] std::span<const Known> signers() const noexcept { return known_; }
  /// The name of the group, as a signature that counts has it; empty: none does.
  [[nodiscard]] const std::string& group() const noexcept { return group_; }

 private:
  [[nodiscard]] std::size_t known(const std::vector<std::byte>& certificates);
  [[nodiscard]] SignatureState state_of(const LogSignature& signature, const fabric::tls::Signer& signer) const;

  const fabric::tls::SignerTrust& trust_;
  store::JournalOwner owner_;
  std::vector<Known> known_;
  std::map<std::vector<std::byte>, std::size_t> by_certificates_;
  std::string group_;
};

}  // namespace spindrift::group
