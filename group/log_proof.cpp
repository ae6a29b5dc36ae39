// A signature is behind the messages that it covers in the journal, and often behind some more: marks are sorted by version.
#include <spindrift/group/log_proof.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::group {
namespace {

constexpr std::size_t problems_max = 16;

bool proves(const SignatureMark& mark) noexcept { return mark.state == SignatureState::good; }

/// Whether such a signature is worth nothing, but does no harm where a later one covers the same messages.
bool may_be_covered(SignatureState state) noexcept {
  return state == SignatureState::revoked || state == SignatureState::unknown || state == SignatureState::untimely;
}

}  // namespace

std::string_view to_string(SignatureState state) noexcept {
  switch (state) {
    case SignatureState::good: return "good";
    case SignatureState::revoked: return "revoked";
    case SignatureState::unknown: return "unknown";
    case SignatureState::untimely: return "untimely";
    case SignatureState::forged: return "forged";
    case SignatureState::malformed: return "malformed";
  }
  return "unknown";
}

void SignatureCollector::take(const store::Entry& entry) {
  if (entry.head.kind == store::EntryKind::base) logs_.erase(entry.head.subgroup);
  if (entry.head.kind != store::EntryKind::signature) return;
  const auto signature = read_signature(entry.payload);
  if (!signature) {
    ++malformed_;
    return;
  }
  SignedLog& log = logs_[signature->subgroup];
  SignatureMark mark = judge_(*signature);
  mark.chain = signature->chain;
  const bool renamed = log.name != signature->name && proves(mark);
  if (renamed) log.marks.clear();
  if (renamed || log.marks.empty()) log.name = signature->name;
  log.marks.push_back(mark);
}

ChainWalk::ChainWalk(LogName name, const SignedLog& signatures) : name_(std::move(name)), marks_(signatures.marks) {
  std::ranges::stable_sort(marks_, {}, [](const SignatureMark& mark) { return mark.chain.version; });
}

const SignatureMark* ChainWalk::guide() const {
  const auto rest = std::span(marks_).subspan(next_);
  const auto good = std::ranges::find_if(rest, proves);
  if (good != rest.end()) return &*good;
  return rest.empty() ? nullptr : &rest.front();
}

// A chain that began before the first message that is there cannot be digested: the proof begins with a signature's word.
void ChainWalk::begin_at(store::LogVersion version) {
  while (next_ < marks_.size() && marks_[next_].chain.version < version) ++next_;
  chain_.reset();
  version_ = version;
  const SignatureMark* const mark = guide();
  if (mark == nullptr || mark->chain.first == version) chain_ = chainer_.begin(name_, version);
  known_from_ = version.value();
  reach(version);
}

void ChainWalk::take(const store::Entry& message) {
  if (!version_) {
    proof_.first = message.version.value();
    begin_at(message.version);
  } else if (*version_ != message.version) {
    note({ProofProblem::Kind::missing, message.version.value(), version_->value()});
    begin_at(message.version);
  } else if (!chain_) {
    if (const SignatureMark* const mark = guide(); mark != nullptr && mark->chain.first == *version_) begin_at(*version_);
  }
  if (chain_) chainer_.add(*chain_, message.head, message.payload);
  ++*version_;
  reach(*version_);
}

void ChainWalk::reach(store::LogVersion version) {
  for (; next_ < marks_.size() && marks_[next_].chain.version == version; ++next_) compare(marks_[next_]);
}

void ChainWalk::compare(const SignatureMark& mark) {
  const std::uint64_t version = mark.chain.version.value();
  if (!proves(mark)) {
    if (!may_be_covered(mark.state)) note({ProofProblem::Kind::signature, version, 0, mark.state, mark.signer});
    return;
  }
  const bool fits = chain_ && *chain_ == mark.chain;
  if (chain_ && !fits) note({ProofProblem::Kind::altered, version, known_end()});
  if (!fits) {
    chain_ = mark.chain;
    known_from_ = version;
  }
  ++proof_.good;
  proof_.last = mark;
  if (version == known_from_) return;
  if (!proof_.proved.empty() && proof_.proved.back().first == known_from_) proof_.proved.back().end = version;
  else proof_.proved.push_back({known_from_, version});
}

std::uint64_t ChainWalk::known_end() const noexcept { return std::max(known_from_, proof_.proved_end()); }

void ChainWalk::note(const ProofProblem& problem) {
  if (proof_.problems.size() < problems_max) proof_.problems.push_back(problem);
  ++proof_.problem_count;
}

// Those of a key that counts no more matter where nothing that counts follows.
void ChainWalk::note_uncovered() {
  const std::uint64_t covered = proof_.last ? proof_.last->chain.version.value() : 0;
  for (const SignatureMark& mark : marks_) {
    const std::uint64_t version = mark.chain.version.value();
    if (may_be_covered(mark.state) && version > covered)
      note({ProofProblem::Kind::signature, version, 0, mark.state, mark.signer});
  }
}

// A node signs where each of its segments begins, so no log that lost its first segments in order lacks a proof there.
void ChainWalk::note_unproved() {
  if (proof_.first == proof_.end) return;
  if (proof_.good == 0) return note({ProofProblem::Kind::unsigned_, proof_.end, proof_.first});
  const std::uint64_t from = proof_.proved.empty() ? proof_.end : proof_.proved.front().first;
  if (from != proof_.first) note({ProofProblem::Kind::unproved, from, proof_.first});
}

LogProof ChainWalk::finish(store::LogVersion end) {
  if (!version_) {
    proof_.first = end.value();
    begin_at(end);
  }
  if (*version_ != end) {
    note({ProofProblem::Kind::missing, end.value(), version_->value()});
    begin_at(end);
  }
  proof_.end = end.value();
  for (; next_ < marks_.size(); ++next_) {
    const SignatureMark& mark = marks_[next_];
    if (proves(mark)) note({ProofProblem::Kind::missing, mark.chain.version.value(), end.value()});
    else if (!may_be_covered(mark.state)) compare(mark);
  }
  note_uncovered();
  note_unproved();
  proof_.chain = chain_;
  return std::move(proof_);
}

}  // namespace spindrift::group
