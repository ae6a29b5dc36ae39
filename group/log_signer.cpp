// A batch is digested behind its commit, outside of the mutex; what waits is bounded, so a disk that is faster than SHA-256
// waits in the end.
#include <spindrift/group/log_signer.hpp>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/log_proof.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/store/examine.hpp>

namespace spindrift::group {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds between_looks_at_keys{1};
constexpr std::size_t spare_max = 4;

Error not_as_signed(const FoundJournal& found, const LogName& name, const ProofProblem& problem) {
  const std::string what = problem.kind == ProofProblem::Kind::missing ? "missing" : "others";
  const std::string which = "[" + std::to_string(problem.since) + ", " + std::to_string(problem.version) + ")";
  const std::string log = "the log of " + name.subgroup;
  return Error(ErrorKind::bad_input, log + " is not the one that this node has signed: messages " + which + " are " + what)
      .at(found.place.of(found.node))
      .fix("keep a copy of the directory, and see what can be proved: spindrift log verify --keys. If other members have "
           "the log, have this node forget its journal: spindrift group forget --config FILE NODE");
}

/// The messages with which segments go on in their logs.
class SegmentBeginnings {
 public:
  SegmentBeginnings(std::span<const store::FoundSegment> segments, const std::map<SubgroupId, SignedLog>& signatures) {
    for (const store::FoundSegment& segment : segments) {
      for (const store::LogEnd& end : segment.ends.all()) lacking_[end.subgroup].insert(end.version);
    }
    for (const auto& [subgroup, log] : signatures) {
      for (const SignatureMark& mark : log.marks) lacking_[subgroup].erase(mark.chain.version);
    }
  }
  /// That message is one, and no signature goes up to it.
  [[nodiscard]] bool lacks_one(const store::Entry& message) const {
    const auto of_log = lacking_.find(message.head.subgroup);
    return of_log != lacking_.end() && of_log->second.contains(message.version);
  }

 private:
  std::map<SubgroupId, std::set<store::LogVersion>> lacking_;
};

}  // namespace

LogSigner::LogSigner(fabric::tls::SigningKey key, Options options) : key_(std::move(key)), options_(std::move(options)) {
  for (const auto& [subgroup, name] : options_.names) {
    const LogName named{options_.group, name};
    logs_[subgroup] = {named, {}, chainer_.begin(named, {}), {}};
  }
}

LogSigner::~LogSigner() {
  {
    const std::lock_guard lock(mutex_);
    shared_.ending = std::max(shared_.ending, Ending::at_once);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// ---- what the journal has

// Signatures are taken for this node's own here: to verify them all takes a while, and a third party does it.
Result<void> LogSigner::resume(const FoundJournal& found) {
  const auto& findings = found.content.findings;
  SignatureCollector signatures([](const LogSignature&) { return SignatureMark(); });
  SPINDRIFT_TRY(store::visit_entries(*found.storage, findings, findings.first(), [&](const store::Entry& entry) {
    signatures.take(entry);
    return true;
  }));
  std::map<SubgroupId, ChainWalk> walks;
  SegmentBeginnings beginnings(findings.segments, signatures.logs());
  for (auto& [subgroup, log] : logs_) {
    const auto base = found.content.bases.find(subgroup);
    if (base != found.content.bases.end()) log.base = base->second;
    const auto own = signatures.logs().find(subgroup);
    const bool is_signed = own != signatures.logs().end() && own->second.name == log.name.subgroup;
    walks.emplace(subgroup, ChainWalk(log.name, is_signed ? own->second : SignedLog()));
  }
  SPINDRIFT_TRY(store::visit_entries(*found.storage, findings, findings.first(), [&](const store::Entry& entry) {
    if (entry.head.kind != store::EntryKind::message) return true;
    const auto walk = walks.find(entry.head.subgroup);
    if (walk == walks.end()) return true;
    Log& log = logs_.at(entry.head.subgroup);
    if (entry.position < log.base) return true;
    if (walk->second.chain() && beginnings.lacks_one(entry)) log.beginnings.push_back(*walk->second.chain());
    walk->second.take(entry);
    return true;
  }));
  for (auto& [subgroup, log] : logs_) {
    const LogProof proof = walks.at(subgroup).finish(findings.ends.of(subgroup).version);
    for (const ProofProblem& problem : proof.problems) {
      const bool lacks_signatures =
          problem.kind == ProofProblem::Kind::unsigned_ || problem.kind == ProofProblem::Kind::unproved;
      if (!lacks_signatures) return not_as_signed(found, log.name, problem);
    }
    if (proof.chain) log.chain = *proof.chain;
    log.signed_to = proof.last ? proof.last->chain.version : log.chain.first;
  }
  return {};
}

// ---- threads

Result<void> LogSigner::start(store::JournalPosition end, std::function<void()> on_ready) {
  start_ = next_ = end;
  on_ready_ = std::move(on_ready);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& why) {
    return out_of_threads(why);
  }
  return {};
}

void LogSigner::take(store::Batch& durable, store::Journal::BatchPlace place) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    const bool has_room = shared_.waiting.empty() || shared_.bytes < options_.waiting_bytes_max;
    return has_room || shared_.ending == Ending::at_once || shared_.failure;
  });
  if (shared_.failure || shared_.ending == Ending::at_once) return;
  store::Batch empty;
  if (!shared_.spare.empty()) {
    empty = std::move(shared_.spare.back());
    shared_.spare.pop_back();
  }
  shared_.bytes += durable.bytes();
  shared_.waiting.push_back({std::exchange(durable, std::move(empty)), place});
  lock.unlock();
  changed_.notify_all();
}

std::vector<LogSigner::Ready> LogSigner::take_ready() {
  const std::lock_guard lock(mutex_);
  return std::exchange(shared_.ready, {});
}

void LogSigner::finish() {
  {
    const std::lock_guard lock(mutex_);
    shared_.ending = std::max(shared_.ending, Ending::when_signed);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> LogSigner::failure() const {
  const std::lock_guard lock(mutex_);
  return shared_.failure;
}

bool LogSigner::is_over() const {
  const std::lock_guard lock(mutex_);
  const bool all_signed = shared_.ending == Ending::when_signed && shared_.waiting.empty() && !has_news();
  return shared_.ending == Ending::at_once || all_signed;
}

void LogSigner::run() {
  try {
    work();
    return;
  } catch (const Exception& why) {
    const std::lock_guard lock(mutex_);
    shared_.failure = why.error();
  }
  changed_.notify_all();
  on_ready_();
}

void LogSigner::work() {
  while (!is_over()) {
    Durable next = await_batch();
    digest(next);
    store::Batch& batch = next.batch;
    const bool has_memory = !batch.empty();
    batch.clear();
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      if (has_memory && shared_.spare.size() < spare_max) shared_.spare.push_back(std::move(batch));
      last = shared_.ending == Ending::when_signed && shared_.waiting.empty();
    }
    if (has_news() && (last || steady_clock::now() >= due_)) sign_all();
  }
}

LogSigner::Durable LogSigner::await_batch() {
  std::unique_lock lock(mutex_);
  const auto to_do = [this] { return !shared_.waiting.empty() || shared_.ending != Ending::no; };
  if (has_news()) changed_.wait_until(lock, due_, to_do);
  else changed_.wait(lock, to_do);
  if (shared_.waiting.empty() || shared_.ending == Ending::at_once) return {};
  Durable next = std::move(shared_.waiting.front());
  shared_.waiting.pop_front();
  shared_.bytes -= next.batch.bytes();
  lock.unlock();
  changed_.notify_all();
  return next;
}

// ---- digests and signatures

// A signature that was made before the first segment of this process began lies in that.
void LogSigner::digest(const Durable& durable) {
  if (durable.place == store::Journal::BatchPlace::begins_segment) {
    for (auto& [subgroup, log] : logs_) {
      const bool is_signed = next_ == start_ && log.made > 0;
      if (log.chain.version != log.chain.first && !is_signed) log.beginnings.push_back(log.chain);
    }
  }
  durable.batch.visit([this](const store::EntryHead& head, store::LogVersion version, std::span<const std::byte> payload) {
    const store::JournalPosition position = next_;
    ++next_;
    const auto log = logs_.find(head.subgroup);
    if (log == logs_.end()) return;
    Log& own = log->second;
    if (head.kind == store::EntryKind::base) {
      own.base = position;
      own.chain = chainer_.begin(own.name, version);
      own.signed_to = version;
      own.beginnings.clear();
    } else if (head.kind == store::EntryKind::message) {
      chainer_.add(own.chain, head, payload);
    }
  });
}

bool LogSigner::has_news() const noexcept {
  return std::ranges::any_of(logs_, [](const auto& log) { return log.second.has_news(); });
}

void LogSigner::sign_all() {
  renew_key();
  std::vector<Ready> made;
  for (auto& entry : logs_) {
    const SubgroupId subgroup = entry.first;
    Log& log = entry.second;
    const auto sign = [&](const LogChain& chain) {
      made.push_back({subgroup, log.base, signature_of(log, subgroup, chain)});
      ++log.made;
      log.signed_to = std::max(log.signed_to, chain.version);
    };
    std::ranges::for_each(std::exchange(log.beginnings, {}), sign);
    if (log.chain.version != log.signed_to) sign(log.chain);
  }
  due_ = steady_clock::now() + options_.sign_after;
  {
    const std::lock_guard lock(mutex_);
    for (Ready& each : made) shared_.ready.push_back(std::move(each));
  }
  on_ready_();
}

std::vector<std::byte> LogSigner::signature_of(const Log& log, SubgroupId subgroup, const LogChain& chain) {
  LogSignature signature{options_.node, subgroup, log.name.subgroup, chain, wall_clock_ns()};
  signature.certificates.assign(key_.certificates().begin(), key_.certificates().end());
  signature.signature = value_or_throw(key_.sign(signed_text(options_.group, signature)));
  return payload_of(signature);
}

// The key before goes on where the new one cannot be used: half of a bundle may have been copied so far.
void LogSigner::renew_key() {
  const auto now = steady_clock::now();
  if (now - key_seen_ < between_looks_at_keys) return;
  key_seen_ = now;
  const auto renewed = key_.reload();
  if (renewed && !*renewed) return;
  if (renewed) return log::info(log::Room::group, "logs are signed with another key", {{"node", options_.node}});
  log::warn(log::Room::group, "logs are signed with the key before: the one in keys cannot be used",
            {{"node", options_.node}, {"reason", renewed.error().to_string()}});
}

Result<std::unique_ptr<LogSigner>> open_log_signer(const Config& config, std::span<const SubgroupView> layout) {
  if (!config.boolean("PERS", "sign_logs")) return std::unique_ptr<LogSigner>();
  if (!journal_place(config)) {
    return Error(ErrorKind::bad_config, "[PERS] sign_logs is true, and no directory is named for the logs")
        .at(config.name())
        .fix("name in [PERS] file_path a directory on a disk that lasts; or leave sign_logs out");
  }
  auto key = fabric::tls::SigningKey::load(config.keys_directory(), config.group_name(), config.local_id());
  if (!key) {
    const ErrorKind kind = key.error().kind();
    return Error(kind, "[PERS] sign_logs is true, and this node has no key to sign with")
        .at(config.keys_directory())
        .because(std::move(key).error());
  }
  LogSigner::Options options{.group = config.group_name(), .node = config.local_id()};
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i].storage == SubgroupStorage::logged)
      options.names.emplace(SubgroupId(static_cast<std::uint32_t>(i)), layout[i].name);
  }
  return std::make_unique<LogSigner>(std::move(*key), std::move(options));
}

}  // namespace spindrift::group
