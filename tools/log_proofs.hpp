// `spindrift log verify --keys`: what the signatures in a journal prove to somebody who has the authority's certificate.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include <spindrift/fabric/tls/signing.hpp>
#include <spindrift/group/log_proof.hpp>
#include <spindrift/group/signature_judge.hpp>

#include "journal_reading.hpp"

namespace spindrift::tools {

/// A log, and what is proved of it.
struct NamedProof {
  std::string name;  ///< of the subgroup, as it was signed; empty: no signature says it
  group::LogProof proof;
};

/// "place 3 of the layout": of a log whose subgroup's name is not known.
[[nodiscard]] std::string place_in_layout(SubgroupId id);
[[nodiscard]] std::string name_of(SubgroupId id, const NamedProof& log);

/// The proofs of a journal.
struct JournalProof {
  std::map<SubgroupId, NamedProof> logs;
  group::SignatureJudge judge;
  std::uint64_t malformed = 0;  ///< entries that should be signatures, and are none
  bool has_lists = false;       ///< somebody has looked whether keys are revoked

  /// Nothing speaks against any log, and something for each that has messages.
  [[nodiscard]] bool holds() const noexcept;
};

/// Reads all of the journal twice. `logs`: as they were found there. `trust` outlives the result. Throws bad_input,
/// resource.
[[nodiscard]] JournalProof prove(JournalReading& journal, const JournaledLogs& logs, const store::JournalOwner& owner,
                                 const fabric::tls::SignerTrust& trust);

void print_proof(const JournalProof& proof);
[[nodiscard]] nlohmann::json proof_json(const JournalProof& proof);

}  // namespace spindrift::tools
