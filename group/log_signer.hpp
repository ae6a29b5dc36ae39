// A node's signatures over its logs: a thread digests what has become durable, and signs it a little later. Nobody waits for
// it: the poller appends signatures to the journal as it does messages.
//
// The invariant to remember: each segment, or one behind it, has a signature over each log up to where that segment begins.
// So what is left of a log whose first segments are trimmed away is proved from its first message on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/fabric/tls/signing.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/log_signature.hpp>
#include <spindrift/store/batch.hpp>
#include <spindrift/store/journal.hpp>

namespace spindrift::group {

class LogSigner {
 public:
  struct Options {
    std::string group;
    NodeId node;
    std::map<SubgroupId, std::string> names{};  ///< of the logged subgroups
    /// Each log gets one signature in that time at most, and one in not much more while it grows.
    std::chrono::nanoseconds sign_after = std::chrono::milliseconds(20);
    /// So much of what is durable may wait to be digested; then the disk does.
    std::size_t waiting_bytes_max = std::size_t{16} << 20U;
  };
  /// A signature on its way to the journal.
  struct Ready {
    SubgroupId subgroup;
    store::JournalPosition base;  ///< of the log that it is over
    std::vector<std::byte> payload;
  };

  LogSigner(fabric::tls::SigningKey key, Options options);
  /// Ends the thread at once.
  ~LogSigner();
  LogSigner(const LogSigner&) = delete;
  LogSigner& operator=(const LogSigner&) = delete;

  /// Goes on where the signatures in the journal end, and checks the messages there against them. Before `start`. Errors:
  /// bad_input (they are not those that were signed), resource.
  [[nodiscard]] Result<void> resume(const FoundJournal& found);
  /// Starts the thread. `end`: of the journal. `on_ready` is called on the thread when there are signatures, or there is a
  /// failure; throws nothing. Errors: resource.
  [[nodiscard]] Result<void> start(store::JournalPosition end, std::function<void()> on_ready);

  /// Takes a batch that has become durable, and leaves an empty one. One thread, the journal's.
  void take(store::Batch& durable, store::Journal::BatchPlace place);
  /// The signatures that were made since. The poller's, as is what follows.
  [[nodiscard]] std::vector<Ready> take_ready();
  /// Digests and signs what is left, and ends the thread.
  void finish();

  // Any thread:
  /// Why nothing is signed any more.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  struct Log {
    LogName name;
    store::JournalPosition base{};
    LogChain chain;
    store::LogVersion signed_to{};      // the last signature goes up to there
    std::vector<LogChain> beginnings{};  // of segments, which are to be signed, too
    std::uint64_t made = 0;              // signatures, by this process

    [[nodiscard]] bool has_news() const noexcept { return chain.version != signed_to || !beginnings.empty(); }
  };
  struct Durable {
    store::Batch batch;
    store::Journal::BatchPlace place = store::Journal::BatchPlace::follows;
  };
  enum class Ending : std::uint8_t { no, when_signed, at_once };

  struct Shared {
    std::deque<Durable> waiting;         // to be digested
    std::size_t bytes = 0;               // of these
    std::vector<store::Batch> spare;     // empty, with memory
    std::vector<Ready> ready;
    Ending ending = Ending::no;
    std::optional<Error> failure;
  };

  void run();
  void work();
  /// The next batch, or an empty one when it is time to sign, or the end.
  [[nodiscard]] Durable await_batch();
  void digest(const Durable& durable);
  [[nodiscard]] bool has_news() const noexcept;
  void sign_all();
  [[nodiscard]] std::vector<std::byte> signature_of(const Log& log, SubgroupId subgroup, const LogChain& chain);
  void renew_key();
  [[nodiscard]] bool is_over() const;

  fabric::tls::SigningKey key_;
  Options options_;
  std::function<void()> on_ready_;
  LogChainer chainer_;                       // the thread's, as are the next five
  std::map<SubgroupId, Log> logs_;
  store::JournalPosition start_;             // of the first entry of this process
  store::JournalPosition next_;              // of the next entry that is digested
  std::chrono::steady_clock::time_point due_{};      // signs at the earliest
  std::chrono::steady_clock::time_point key_seen_{};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Shared shared_;  // behind the mutex
  std::thread thread_;
};

/// The signer of this node; null: its logs are not signed. Errors: bad_config (there is no key that it could sign with),
/// refused (the key is revoked), resource.
[[nodiscard]] Result<std::unique_ptr<LogSigner>> open_log_signer(const Config& config, std::span<const SubgroupView> layout);

}  // namespace spindrift::group
