// Clients and server are processes. Both ways have their lookups done by the thread that wants to know, which polls
// meanwhile.
#include <spindrift/bench/papers/lookups.hpp>

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
constexpr Port question_port(9);
constexpr kernel::DeviceSizes sizes{.send_depth = 256, .receive_buffers = 256};

/// All processes see this.
struct LookupMeeting {
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
  void start(const LookupRun& run, const Metadata& like) {
    for (std::uint32_t node = 1; node <= run.nodes; ++node) table_.emplace(NodeId(node), elsewhere(like, node));
    device_ = open_loopback_device(run.provider, sizes);
    kernel::PoolOptions options;
    options.pairs_max = 2 * lookup_clients_max;
    pool_ = value_or_throw(kernel::Pool::open(*device_, options));
    keys_ = value_or_throw(pool_->register_local(std::as_writable_bytes(std::span(answers_))));
    value_or_throw(pool_->bind(question_port, completions_, lookup_clients_max));
  }
  [[nodiscard]] const Metadata& metadata() const { return device_->metadata(); }

  void poll() {
    value_or_throw(pool_->progress(clock_.now()));
    std::array<kernel::Completion, 64> over;
    static_cast<void>(completions_.take(over));
    while (!unsent_.empty()) {
      auto sent = send(unsent_.front());
      if (!sent) return;  // room comes with the next completions
      unsent_.pop_front();
    }
    while (true) {
      auto question = value_or_throw(pool_->pop_message(question_port));
      if (!question) return;
      std::uint32_t number = 0;
      if (question->bytes.size() != sizeof number) throw Exception(Error(ErrorKind::member_lost, "no question"));
      std::memcpy(&number, question->bytes.data(), sizeof number);
      const auto found = table_.find(NodeId(number));
      // A client has one question at a time, so its last answer was taken when it asks again.
      const std::size_t slot = next_++ % answers_.size();
      answers_[slot] = found == table_.end() ? Metadata{} : found->second;
      auto sent = send({question->from, slot});
      if (!sent) unsent_.push_back({question->from, slot});
    }
  }

 private:
  struct Unsent {
    PairId to;
    std::size_t slot;
  };
  bool send(const Unsent& answer) {
    const Request request{.kind = Request::Kind::send,
                          .signaled = true,
                          .context = answer.slot,
                          .local = std::as_writable_bytes(std::span(&answers_[answer.slot], 1)),
                          .local_memory = keys_};
    return value_or_throw(pool_->post(answer.to, std::span(&request, 1))) == 1;
  }

  SystemClock clock_;
  std::unordered_map<NodeId, Metadata> table_;
  std::array<Metadata, std::size_t{4} * lookup_clients_max> answers_{};
  std::size_t next_ = 0;
  std::deque<Unsent> unsent_;
  kernel::CompletionQueue completions_{1024};
  std::unique_ptr<kernel::PhysicalDevice> device_;
  std::unique_ptr<kernel::Pool> pool_;
  kernel::MemoryKeys keys_;
};

/// Asks an Answerer.
class Asker {
 public:
  void start(kernel::PhysicalDevice& device, const Metadata& answerer, std::uint32_t number) {
    kernel::PoolOptions options;
    options.self = NodeId(number);
    options.pairs_max = 2;
    pool_ = value_or_throw(kernel::Pool::open(device, options));
    keys_ = value_or_throw(pool_->register_local(question_));
    pair_ = value_or_throw(pool_->create(completions_, {}));
    value_or_throw(pool_->connect(pair_, answerer, question_port));
  }

  Metadata ask(NodeId node) {
    const std::uint32_t number = node.value();
    std::memcpy(question_.data(), &number, sizeof number);
    const Request request{
        .kind = Request::Kind::send, .signaled = true, .context = 0, .local = question_, .local_memory = keys_};
    const std::uint64_t start_ns = nanoseconds_now();
    for (bool posted = false;;) {
      if (!posted) posted = value_or_throw(pool_->post(pair_, std::span(&request, 1))) == 1;
      if (!value_or_throw(pool_->progress(clock_.now()))) ::sched_yield();
      std::array<kernel::Completion, 4> over;
      static_cast<void>(completions_.take(over));
      if (const auto answer = pool_->take_message(pair_)) {
        if (answer->size() != sizeof(Metadata)) throw Exception(Error(ErrorKind::member_lost, "no answer to the question"));
        Metadata metadata;
        std::memcpy(&metadata, answer->data(), sizeof metadata);
        return metadata;
      }
      if (pool_->failure(pair_)) throw Exception(Error(ErrorKind::member_lost, "the server is gone"));
      if (nanoseconds_now() - start_ns > answer_patience_ns) throw Exception(Error(ErrorKind::timed_out, "no answer comes"));
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

void serve(const LookupRun& run, LookupMeeting& meeting) {
  TableKeeper keeper;
  keeper.start(run.provider, run.nodes);
  Answerer answerer;
  answerer.start(run, keeper.server().metadata);
  meeting.server = keeper.server();
  meeting.answering = answerer.metadata();
  meeting.opened.pass_asleep(run.clients + 1);
  while (meeting.through.value.load(std::memory_order_acquire) < run.clients) {
    if (run.way == LookupWay::reads) {
      keeper.poll();
    } else {
      answerer.poll();
    }
    ::sched_yield();
  }
}

/// A way of looking up, of one client.
class LookupClient {
 public:
  LookupClient(const LookupRun& run, std::uint32_t number, LookupMeeting& meeting)
      : run_(run), number_(number), meeting_(meeting) {}

  void work(std::span<std::uint64_t> ns) {
    device_ = open_loopback_device(run_.provider, {.send_depth = 64, .receive_buffers = 64});
    meeting_.opened.pass_asleep(run_.clients + 1);
    open();
    look_up(0);
    const std::uint64_t start_ns = meeting_.start.pass(run_.clients);
    for (std::uint32_t i = 0; i < run_.lookups; ++i) {
      auto took = look_up(i + 1);
      ns[i] = took;
    }
    meeting_.took_ns[number_].value.store(nanoseconds_now() - start_ns);
    meeting_.through.value.fetch_add(1, std::memory_order_acq_rel);
    // A client that was taken apart meanwhile would take time from those that still ask.
    meeting_.ended.pass_asleep(run_.clients);
  }

 private:
  void open() {
    if (run_.way == LookupWay::messages) return asker_.start(*device_, meeting_.answering, number_ + 1);
    seeker_ = Seeker::start(*device_, meeting_.server, {.nodes_max = run_.nodes, .pairs_max = 0, .yields = true});
  }

  std::uint64_t look_up(std::uint32_t position) {
    const NodeId node(1 + (number_ * 37 + position) % run_.nodes);
    const std::uint64_t start_ns = nanoseconds_now();
    Metadata answer;
    if (seeker_ == nullptr) {
      answer = asker_.ask(node);
    } else {
      seeker_->look_up(node, 1);
      answer = *seeker_->find(node);
    }
    const std::uint64_t took_ns = nanoseconds_now() - start_ns;
    if (answer != elsewhere(meeting_.server.metadata, node.value()))
      throw Exception(Error(ErrorKind::member_lost, "the answer is another than the table's"));
    return took_ns;
  }

  const LookupRun& run_;
  const std::uint32_t number_;
  LookupMeeting& meeting_;
  std::unique_ptr<kernel::PhysicalDevice> device_;
  Asker asker_;
  std::unique_ptr<Seeker> seeker_;
};

}  // namespace

LookupTimes measure_lookups(const LookupRun& run) {
  CHECK(run.clients >= 1 && run.clients <= lookup_clients_max && run.lookups >= 1 && run.nodes >= 1);
  const std::size_t all = std::size_t{run.clients} * run.lookups;
  auto memory = SharedMemory::make(sizeof(LookupMeeting) + all * sizeof(std::uint64_t));
  LookupMeeting& meeting = memory.make_objects<LookupMeeting>(0, 1)[0];
  const auto ns = memory.make_objects<std::uint64_t>(sizeof(LookupMeeting), all);
  run_processes(run.clients + 1, patience, [&](std::uint32_t position) {
    if (position == run.clients) return serve(run, meeting);
    LookupClient(run, position, meeting).work(ns.subspan(std::size_t{position} * run.lookups, run.lookups));
  });
  std::uint64_t longest = 1;
  for (std::uint32_t client = 0; client < run.clients; ++client)
    longest = std::max(longest, meeting.took_ns[client].value.load(std::memory_order_acquire));
  return LookupTimes{{ns.begin(), ns.end()}, static_cast<double>(all) * 1e9 / static_cast<double>(longest)};
}

}  // namespace spindrift::bench
