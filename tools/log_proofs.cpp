// Words for what is proved, and for what is not.
#include "log_proofs.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

#include "escaped.hpp"
#include "json_output.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;
using group::LogProof;
using group::ProofProblem;
using group::SignatureState;
using fabric::tls::Signer;

std::string digits_of(const fabric::tls::Sha256& digest) {
  std::string text;
  for (const std::byte each : digest) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}

std::string range_text(std::uint64_t first, std::uint64_t end) { return fmt::format("[{}, {})", first, end); }

std::string reason_of(SignatureState state, const Signer& signer) {
  switch (state) {
    case SignatureState::revoked:
    case SignatureState::unknown:
      return signer.why.empty() ? "it names another node than the journal's" : signer.why;
    case SignatureState::untimely: return "its time is none at which the certificate was valid";
    case SignatureState::forged: return "the key that it names has not made it";
    case SignatureState::good:
    case SignatureState::malformed: break;
  }
  return "it is no signature";
}

std::string problem_text(const ProofProblem& problem, const group::SignatureJudge& judge) {
  switch (problem.kind) {
    case ProofProblem::Kind::altered:
      return fmt::format("messages {} are not those that were signed", range_text(problem.since, problem.version));
    case ProofProblem::Kind::missing:
      return fmt::format("messages {} are missing", range_text(problem.since, problem.version));
    case ProofProblem::Kind::unsigned_: return "no signature that counts proves anything of it";
    case ProofProblem::Kind::unproved:
      return fmt::format("messages {} are proved by no signature", range_text(problem.since, problem.version));
    case ProofProblem::Kind::signature: break;
  }
  const Signer& signer = judge.signers()[problem.signer].signer;
  return fmt::format("the signature over the messages before version {} does not count: {} (certificate {})",
                     problem.version, harmless(reason_of(problem.state, signer)),
                     signer.serial.empty() ? "?" : signer.serial);
}

std::string_view word_of(const ProofProblem& problem) {
  switch (problem.kind) {
    case ProofProblem::Kind::altered: return "altered";
    case ProofProblem::Kind::missing: return "missing";
    case ProofProblem::Kind::unsigned_: return "unsigned";
    case ProofProblem::Kind::unproved: return "unproved";
    case ProofProblem::Kind::signature: break;
  }
  return to_string(problem.state);
}

void print_log(const std::string& name, const LogProof& proof, const group::SignatureJudge& judge) {
  const std::string log = "log of " + harmless(name);
  for (const group::ProvedRange& range : proof.proved) {
    const Signer& signer = judge.signers()[proof.last->signer].signer;
    fmt::print("{}: proved for versions {} by {} (certificate {})\n", log, range_text(range.first, range.end),
               signer.identity->uri(), signer.serial);
  }
  for (const ProofProblem& problem : proof.problems) fmt::print("{}: {}\n", log, problem_text(problem, judge));
  if (proof.problem_count > proof.problems.size())
    fmt::print("{}: and {} more like these\n", log, proof.problem_count - proof.problems.size());
  if (proof.proved_end() != proof.end)
    fmt::print("{}: not proved for versions {}\n", log, range_text(proof.proved_end(), proof.end));
  if (proof.last) {
    const group::LogChain& chain = proof.last->chain;
    const bool lacks_some = chain.first.value() < proof.first;
    fmt::print("{}: SHA-256 of versions {}{}: {}\n", log, range_text(chain.first.value(), chain.version.value()),
               lacks_some ? fmt::format(", as signed, for those before {} are not here", proof.first) : "",
               digits_of(chain.digest));
  }
}

Json log_json(SubgroupId id, const NamedProof& log, const group::SignatureJudge& judge) {
  const LogProof& proof = log.proof;
  Json proved = Json::array();
  for (const group::ProvedRange& range : proof.proved) proved.push_back({{"first", range.first}, {"end", range.end}});
  Json problems = Json::array();
  for (const ProofProblem& problem : proof.problems) {
    problems.push_back({{"kind", word_of(problem)}, {"since", problem.since}, {"version", problem.version},
                        {"message", problem_text(problem, judge)}});
  }
  Json last;
  if (proof.last) {
    last = {{"first", proof.last->chain.first.value()},
            {"end", proof.last->chain.version.value()},
            {"sha256", digits_of(proof.last->chain.digest)},
            {"serial", judge.signers()[proof.last->signer].signer.serial}};
  }
  return {{"subgroup", log.name.empty() ? Json() : Json(log.name)},
          {"id", id},
          {"first", proof.first},
          {"end", proof.end},
          {"proved", std::move(proved)},
          {"signatures", proof.good},
          {"last", std::move(last)},
          {"problems", std::move(problems)},
          {"problem_count", proof.problem_count}};
}

}  // namespace

std::string place_in_layout(SubgroupId id) { return fmt::format("place {} of the layout", id); }

std::string name_of(SubgroupId id, const NamedProof& log) { return log.name.empty() ? place_in_layout(id) : log.name; }

bool JournalProof::holds() const noexcept {
  return malformed == 0 && std::ranges::all_of(logs, [](const auto& log) { return log.second.proof.problem_count == 0; });
}

JournalProof prove(JournalReading& journal, const JournaledLogs& logs, const store::JournalOwner& owner,
                   const fabric::tls::SignerTrust& trust) {
  JournalProof all{{}, group::SignatureJudge(trust, owner), 0, trust.has_lists()};
  group::SignatureCollector signatures([&](const group::LogSignature& signature) { return all.judge.judge(signature); });
  journal.visit_all([&](const store::Entry& entry) {
    signatures.take(entry);
    return true;
  });
  all.malformed = signatures.malformed();
  std::map<SubgroupId, group::ChainWalk> walks;
  const auto add = [&](SubgroupId id) {
    const auto found = signatures.logs().find(id);
    const group::SignedLog own = found == signatures.logs().end() ? group::SignedLog() : found->second;
    walks.try_emplace(id, group::LogName{all.judge.group(), own.name}, own);
    all.logs[id].name = own.name;
  };
  for (const auto& [id, log] : logs) add(id);
  for (const auto& [id, log] : signatures.logs()) add(id);
  journal.visit_all([&](const store::Entry& entry) {
    if (entry.head.kind != store::EntryKind::message) return true;
    const auto log = logs.find(entry.head.subgroup);
    if (log != logs.end() && entry.position >= log->second.base) walks.at(entry.head.subgroup).take(entry);
    return true;
  });
  for (auto& [id, walk] : walks) {
    const auto log = logs.find(id);
    all.logs[id].proof = walk.finish(log == logs.end() ? store::LogVersion() : log->second.end.version);
  }
  return all;
}

void print_proof(const JournalProof& proof) {
  for (const auto& [id, log] : proof.logs)
    print_log(name_of(id, log), log.proof, proof.judge);
  if (proof.malformed != 0) fmt::print("entries that should be signatures, and are none: {}\n", proof.malformed);
  if (!proof.has_lists) fmt::print("no list of revoked certificates was given: none counts as revoked\n");
  fmt::print("{}\n", proof.holds() ? "what is signed is as it was signed" : "the logs are not proved");
}

Json proof_json(const JournalProof& proof) {
  Json logs = Json::array();
  for (const auto& [id, log] : proof.logs) logs.push_back(log_json(id, log, proof.judge));
  Json signers = Json::array();
  for (const auto& [signer, signatures] : proof.judge.signers()) {
    signers.push_back({{"identity", signer.identity ? Json(signer.identity->uri()) : Json()},
                       {"serial", signer.serial},
                       {"fingerprint", signer.fingerprint},
                       {"signatures", signatures},
                       {"reason", signer.why.empty() ? Json() : Json(signer.why)}});
  }
  return {{"ok", proof.holds()},
          {"revocations_known", proof.has_lists},
          {"malformed", proof.malformed},
          {"logs", std::move(logs)},
          {"signers", std::move(signers)}};
}

}  // namespace spindrift::tools
