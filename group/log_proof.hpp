// The proof of a log's history: its messages, digested anew, against the signatures that lie between them. Two walks over a
// journal: the first gathers signatures, the second compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/group/log_signature.hpp>
#include <spindrift/store/entry.hpp>

namespace spindrift::group {

/// The worth of a signature by itself, without a look at the messages.
enum class SignatureState : std::uint8_t {
  good,
  revoked,    ///< good, but the authority has taken the key back
  unknown,    ///< by a key that is not this node's as the authority says
  untimely,   ///< its time is none at which the certificate was valid
  forged,     ///< not made by the key that it names
  malformed,  ///< no signature at all
};
[[nodiscard]] std::string_view to_string(SignatureState state) noexcept;

/// A signature in a journal.
struct SignatureMark {
  LogChain chain;
  SignatureState state = SignatureState::good;
  std::size_t signer = 0;  ///< for whoever judges
};
/// Those over one log, since it began anew last, in the order of the journal.
struct SignedLog {
  std::string name;  ///< of the subgroup
  std::vector<SignatureMark> marks{};
};

/// The first walk.
class SignatureCollector {
 public:
  /// Judges a signature, and may say in `signer` whose it is.
  using Judge = std::function<SignatureMark(const LogSignature&)>;
  explicit SignatureCollector(Judge judge) : judge_(std::move(judge)) {}

  /// The next entry of the journal. A good signature under another name makes what was before of another log.
  void take(const store::Entry& entry);
  [[nodiscard]] const std::map<SubgroupId, SignedLog>& logs() const noexcept { return logs_; }
  /// So many entries of the kind are no signatures.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  Judge judge_;
  std::map<SubgroupId, SignedLog> logs_;
  std::uint64_t malformed_ = 0;
};

/// Something that speaks against a log.
struct ProofProblem {
  enum class Kind : std::uint8_t {
    altered,    ///< the messages before `version` are not those that were signed
    missing,    ///< messages before `version` were signed, and are not there
    signature,  ///< a signature does not count: see `state`
    unsigned_,  ///< there are messages, and no signature that counts
    unproved,   ///< the first messages that are there, up to `version`, are proved by no signature
  };
  Kind kind = Kind::altered;
  std::uint64_t version = 0;  ///< up to which the signature goes
  std::uint64_t since = 0;    ///< altered: messages before that one are proved, or gone
  SignatureState state = SignatureState::good;
  std::size_t signer = 0;
};

/// Messages of versions [first, end).
struct ProvedRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  friend bool operator==(const ProvedRange&, const ProvedRange&) = default;
};

/// The outcome for one log.
struct LogProof {
  std::uint64_t first = 0;                ///< of the messages that are there
  std::uint64_t end = 0;                  ///< behind the last
  std::vector<ProvedRange> proved{};      ///< ascending, none of them empty
  std::optional<LogChain> chain{};        ///< behind all messages, as they are there; nothing: it is not known
  std::optional<SignatureMark> last{};    ///< the last signature that proves something
  std::uint64_t good = 0;                 ///< so many signatures count, and fit
  std::vector<ProofProblem> problems{};   ///< the first of them
  std::uint64_t problem_count = 0;

  /// Behind what is proved.
  [[nodiscard]] std::uint64_t proved_end() const noexcept { return proved.empty() ? first : proved.back().end; }
};

/// The second walk, along one log.
class ChainWalk {
 public:
  /// Throws resource.
  ChainWalk(LogName name, const SignedLog& signatures);

  /// That of the messages before the next one; nothing: it is not known.
  [[nodiscard]] const std::optional<LogChain>& chain() const noexcept { return chain_; }
  /// The next message that is there, of the log since it began anew last.
  void take(const store::Entry& message);
  /// The log ends at that version.
  [[nodiscard]] LogProof finish(store::LogVersion end);

 private:
  /// The mark that tells where the chain that follows begins; null: there is none.
  [[nodiscard]] const SignatureMark* guide() const;
  void begin_at(store::LogVersion version);
  /// All messages before that version have been looked at.
  void reach(store::LogVersion version);
  void compare(const SignatureMark& mark);
  /// The version up to which nothing speaks against the log.
  [[nodiscard]] std::uint64_t known_end() const noexcept;
  void note(const ProofProblem& problem);
  void note_uncovered();
  void note_unproved();

  LogName name_;
  LogChainer chainer_;
  std::vector<SignatureMark> marks_;  // ascending
  std::size_t next_ = 0;              // of these
  std::optional<store::LogVersion> version_;  // of the next message; nothing: there was none
  std::optional<LogChain> chain_;     // up to there; nothing: it is not known
  std::uint64_t known_from_ = 0;      // and since then
  LogProof proof_;
};

}  // namespace spindrift::group
