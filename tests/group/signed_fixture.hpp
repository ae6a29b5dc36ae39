// Nodes that sign their logs, with keys of one authority, and what a third party finds proved of these.
#pragma once

#include <catch2/catch.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/group/log_proof.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/group/signature_judge.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {

/// The keys of the group "g", below the directory of journals.
struct GroupKeys {
  explicit GroupKeys(std::string above, std::string name = "g", std::uint32_t nodes = 3)
      : directory(std::move(above) + "/keys"),
        group(std::move(name)),
        authority(value_or_throw(fabric::tls::Authority::create(directory, group, days(30)))) {
    for (std::uint32_t node = 0; node < nodes; ++node) value_or_throw(authority.add(member(node), days(10)));
  }
  [[nodiscard]] static fabric::tls::Validity days(int count) {
    return fabric::tls::valid_for(now(), std::chrono::days(count));
  }
  [[nodiscard]] static std::chrono::sys_seconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] fabric::tls::Identity member(std::uint32_t node) const {
    return value_or_throw(fabric::tls::Identity::of_member(group, NodeId(node)));
  }
  [[nodiscard]] std::string bundle(std::uint32_t node) const { return authority.bundle_directory(member(node)); }
  [[nodiscard]] fabric::tls::SigningKey key(std::uint32_t node) const {
    return value_or_throw(fabric::tls::SigningKey::load(bundle(node), group, NodeId(node)));
  }
  /// As a third party has it: without a bundle.
  [[nodiscard]] std::string public_directory() const { return directory + "/authority"; }
  [[nodiscard]] fabric::tls::SignerTrust trust() const {
    return value_or_throw(fabric::tls::SignerTrust::read(public_directory()));
  }

  std::string directory;
  std::string group;
  fabric::tls::Authority authority;
};

/// The journal of a node that signs the logs of `names`.
inline Result<std::unique_ptr<NodeJournal>> open_signing(const JournalPlace& place, std::uint32_t node,
                                                         fabric::tls::SigningKey key,
                                                         std::map<SubgroupId, std::string> names,
                                                         const NodeJournal::Options& options = small_journal,
                                                         Duration sign_after = std::chrono::milliseconds(1)) {
  FoundJournal found = value_or_throw(FoundJournal::take(place, NodeId(node)));
  auto signer = std::make_unique<LogSigner>(
      std::move(key), LogSigner::Options{.group = place.group, .node = NodeId(node), .names = std::move(names),
                                         .sign_after = sign_after});
  return NodeJournal::open_signed(std::move(found), options, std::move(signer), [] {});
}

struct ProvedLog {
  LogProof proof;
  std::string name;
  std::uint64_t marks = 0;
};
/// The proof of that log for whoever trusts the authority alone.
inline ProvedLog proof_of(const JournalPlace& place, std::uint32_t node, const fabric::tls::SignerTrust& trust,
                          SubgroupId subgroup) {
  auto files = value_or_throw(store::FileStorage::open_to_read(place.of(NodeId(node))));
  const auto findings = value_or_throw(store::examine(files, place.owner(NodeId(node))));
  REQUIRE(findings.damages.empty());
  SignatureJudge judge(trust, place.owner(NodeId(node)));
  SignatureCollector signatures([&](const LogSignature& signature) { return judge.judge(signature); });
  store::JournalPosition base;
  value_or_throw(store::visit_entries(files, findings, findings.first(), [&](const store::Entry& entry) {
    signatures.take(entry);
    if (entry.head.kind == store::EntryKind::base && entry.head.subgroup == subgroup) base = entry.position;
    return true;
  }));
  const auto own = signatures.logs().find(subgroup);
  const SignedLog log = own == signatures.logs().end() ? SignedLog() : own->second;
  ChainWalk walk({judge.group(), log.name}, log);
  value_or_throw(store::visit_entries(files, findings, base, [&](const store::Entry& entry) {
    if (entry.head.kind == store::EntryKind::message && entry.head.subgroup == subgroup) walk.take(entry);
    return true;
  }));
  return {walk.finish(findings.ends.of(subgroup).version), log.name, log.marks.size()};
}

}  // namespace spindrift::group
