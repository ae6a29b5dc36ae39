// Clients and server are processes. Both ways have their lookups done by the thread that wants to know, which polls
// meanwhile.
#include <spindrift/bench/lookups.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::bench {

namespace {

using kernel::Metadata;
using kernel::PairId;
using kernel::Port;
using kernel::Request;

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t answer_patience_ns = 10'000'000'000;
constexpr Port door(9);
constexpr kernel::DeviceSizes sizes{.send_depth = 256, .receive_buffers = 256};

/// What all processes see.
struct Meeting {
  kernel::MetaServer server;
  Metadata answering;  ///< who answers messages
  Gate opened;
  Gate start;
  std::array<SharedWord, lookup_clients_max> took_ns;
  SharedWord through;  ///< how many clients are
  Gate ended;
};

/// Answers messages that have a node's number with that node's metadata.
class Answerer {
 public:
  Result<void> start(const LookupRun& run, const Metadata& like) {
    for (std::uint32_t node = 1; node <= run.nodes; ++node) table_.emplace(NodeId(node), elsewhere(like, node));
    auto device = open_loopback_device(run.provider, sizes);
    if (!device) return std::move(device).error();
    device_ = std::move(device).value();
    kernel::PoolOptions options;
    options.pairs_max = 2 * lookup_clients_max;
    auto pool = kernel::Pool::open(*device_, options);
    if (!pool) return std::move(pool).error();
    pool_ = std::move(pool).value();
    auto keys = pool_->register_local(std::as_writable_bytes(std::span(answers_)));
    if (!keys) return std::move(keys).error();
    keys_ = *keys;
    return pool_->bind(door, completions_, lookup_clients_max);
  }
  [[nodiscard]] const Metadata& metadata() const { return device_->metadata(); }

  Result<void> poll() {
    if (auto moved = pool_->progress(clock_.now()); !moved) return std::move(moved).error();
    std::array<kernel::Completion, 64> over;
    static_cast<void>(completions_.take(over));
    while (!unsent_.empty()) {
      auto sent = send(unsent_.front());
      if (!sent) return std::move(sent).error();
      if (!*sent) return {};  // room comes with the next completions
      unsent_.pop_front();
    }
    while (true) {
      auto question = pool_->pop_message(door);
      if (!question) return std::move(question).error();
      if (!*question) return {};
      std::uint32_t number = 0;
      if ((*question)->bytes.size() != sizeof number) return Error(ErrorKind::member_lost, "no question");
      std::memcpy(&number, (*question)->bytes.data(), sizeof number);
      const auto found = table_.find(NodeId(number));
      // A client has one question at a time, so its last answer was taken when it asks again.
      const std::size_t slot = next_++ % answers_.size();
      answers_[slot] = found == table_.end() ? Metadata{} : found->second;
      auto sent = send({(*question)->from, slot});
      if (!sent) return std::move(sent).error();
      if (!*sent) unsent_.push_back({(*question)->from, slot});
    }
  }

 private:
  struct Unsent {
    PairId to;
    std::size_t slot;
  };
  Result<bool> send(const Unsent& answer) {
    const Request request{.kind = Request::Kind::send,
                          .signaled = true,
                          .context = answer.slot,
                          .local = std::as_writable_bytes(std::span(&answers_[answer.slot], 1)),
                          .local_memory = keys_};
    auto posted = pool_->post(answer.to, std::span(&request, 1));
    if (!posted) return std::move(posted).error();
    return *posted == 1;
  }

  SystemClock clock_;
  std::unordered_map<NodeId, Metadata> table_;
  std::array<Metadata, std::size_t{4} * lookup_clients_max> answers_{};
  std::size_t next_ = 0;
  std::deque<Unsent> unsent_;
  kernel::CompletionQueue completions_{1024};
  std::unique_ptr<kernel::Device> device_;
  std::unique_ptr<kernel::Pool> pool_;
  kernel::MemoryKeys keys_;
};

/// Asks an Answerer.
class Asker {
 public:
  Result<void> start(kernel::Device& device, const Metadata& answerer, std::uint32_t number) {
    kernel::PoolOptions options;
    options.self = NodeId(number);
    options.pairs_max = 2;
    auto pool = kernel::Pool::open(device, options);
    if (!pool) return std::move(pool).error();
    pool_ = std::move(pool).value();
    auto keys = pool_->register_local(question_);
    if (!keys) return std::move(keys).error();
    keys_ = *keys;
    auto pair = pool_->create(completions_, {});
    if (!pair) return std::move(pair).error();
    pair_ = *pair;
    return pool_->connect(pair_, answerer, door);
  }

  Result<Metadata> ask(NodeId node) {
    const std::uint32_t number = node.value();
    std::memcpy(question_.data(), &number, sizeof number);
    const Request request{
        .kind = Request::Kind::send, .signaled = true, .context = 0, .local = question_, .local_memory = keys_};
    const std::uint64_t start_ns = nanoseconds_now();
    for (bool posted = false;;) {
      if (!posted) {
        const auto taken = pool_->post(pair_, std::span(&request, 1));
        if (!taken) return taken.error();
        posted = *taken == 1;
      }
      auto moved = pool_->progress(clock_.now());
      if (!moved) return std::move(moved).error();
      if (!*moved) ::sched_yield();
      std::array<kernel::Completion, 4> over;
      static_cast<void>(completions_.take(over));
      if (const auto answer = pool_->take_message(pair_)) {
        if (answer->size() != sizeof(Metadata)) return Error(ErrorKind::member_lost, "no answer to the question");
        Metadata metadata;
        std::memcpy(&metadata, answer->data(), sizeof metadata);
        return metadata;
      }
      if (pool_->failure(pair_)) return Error(ErrorKind::member_lost, "the server is gone");
      if (nanoseconds_now() - start_ns > answer_patience_ns) return Error(ErrorKind::timed_out, "no answer comes");
    }
  }

 private:
  SystemClock clock_;
  alignas(8) std::array<std::byte, sizeof(std::uint32_t)> question_{};
  kernel::CompletionQueue completions_{64};
  std::unique_ptr<kernel::Pool> pool_;
  kernel::MemoryKeys keys_;
  PairId pair_;
};

Result<void> serve(const LookupRun& run, Meeting& meeting) {
  TableKeeper keeper;
  if (auto started = keeper.start(run.provider, run.nodes); !started) return started;
  Answerer answerer;
  if (auto started = answerer.start(run, keeper.server().metadata); !started) return started;
  meeting.server = keeper.server();
  meeting.answering = answerer.metadata();
  meeting.opened.pass_asleep(run.clients + 1);
  while (meeting.through.value.load(std::memory_order_acquire) < run.clients) {
    if (run.way == LookupWay::reads) {
      keeper.poll();
    } else if (auto polled = answerer.poll(); !polled) {
      return polled;
    }
    ::sched_yield();
  }
  return {};
}

/// A way of looking up, of one client.
class Client {
 public:
  Client(const LookupRun& run, std::uint32_t number, Meeting& meeting) : run_(run), number_(number), meeting_(meeting) {}

  Result<void> work(std::span<std::uint64_t> ns) {
    auto device = open_loopback_device(run_.provider, {.send_depth = 64, .receive_buffers = 64});
    if (!device) return std::move(device).error();
    device_ = std::move(device).value();
    meeting_.opened.pass_asleep(run_.clients + 1);
    if (auto opened = open(); !opened) return opened;
    if (auto first = look_up(0); !first) return std::move(first).error();
    const std::uint64_t start_ns = meeting_.start.pass(run_.clients);
    for (std::uint32_t i = 0; i < run_.lookups; ++i) {
      auto took = look_up(i + 1);
      if (!took) return std::move(took).error();
      ns[i] = *took;
    }
    meeting_.took_ns[number_].value.store(nanoseconds_now() - start_ns);
    meeting_.through.value.fetch_add(1, std::memory_order_acq_rel);
    // What is taken apart meanwhile would take time from those who still ask.
    meeting_.ended.pass_asleep(run_.clients);
    return {};
  }

 private:
  Result<void> open() {
    if (run_.way == LookupWay::messages) return asker_.start(*device_, meeting_.answering, number_ + 1);
    auto seeker = Seeker::start(*device_, meeting_.server, {.nodes_max = run_.nodes, .pairs_max = 0, .yields = true});
    if (!seeker) return std::move(seeker).error();
    seeker_ = std::move(seeker).value();
    return {};
  }

  Result<std::uint64_t> look_up(std::uint32_t position) {
    const NodeId node(1 + (number_ * 37 + position) % run_.nodes);
    const std::uint64_t start_ns = nanoseconds_now();
    Metadata answer;
    if (seeker_ == nullptr) {
      auto answered = asker_.ask(node);
      if (!answered) return std::move(answered).error();
      answer = *answered;
    } else {
      if (auto found = seeker_->look_up(node, 1); !found) return std::move(found).error();
      answer = *seeker_->find(node);
    }
    const std::uint64_t took_ns = nanoseconds_now() - start_ns;
    if (answer != elsewhere(meeting_.server.metadata, node.value()))
      return Error(ErrorKind::member_lost, "the answer is another than the table's");
    return took_ns;
  }

  const LookupRun& run_;
  const std::uint32_t number_;
  Meeting& meeting_;
  std::unique_ptr<kernel::Device> device_;
  Asker asker_;
  std::unique_ptr<Seeker> seeker_;
};

}  // namespace

const char* to_string(LookupWay way) noexcept { return way == LookupWay::reads ? "one-sided reads" : "messages"; }

Result<LookupTimes> measure_lookups(const LookupRun& run) {
  CHECK(run.clients >= 1 && run.clients <= lookup_clients_max && run.lookups >= 1 && run.nodes >= 1);
  const std::size_t all = std::size_t{run.clients} * run.lookups;
  auto memory = SharedMemory::make(sizeof(Meeting) + all * sizeof(std::uint64_t));
  if (!memory) return std::move(memory).error();
  Meeting& meeting = memory->make_objects<Meeting>(0, 1)[0];
  const auto ns = memory->make_objects<std::uint64_t>(sizeof(Meeting), all);
  auto ran = run_processes(run.clients + 1, patience, [&](std::uint32_t position) {
    if (position == run.clients) return value_or_throw(serve(run, meeting));
    value_or_throw(Client(run, position, meeting).work(ns.subspan(std::size_t{position} * run.lookups, run.lookups)));
  });
  if (!ran) return std::move(ran).error();
  std::uint64_t longest = 1;
  for (std::uint32_t client = 0; client < run.clients; ++client)
    longest = std::max(longest, meeting.took_ns[client].value.load(std::memory_order_acquire));
  return LookupTimes{{ns.begin(), ns.end()}, static_cast<double>(all) * 1e9 / static_cast<double>(longest)};
}

}  // namespace spindrift::bench
