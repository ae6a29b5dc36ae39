// One process per worker, and one that keeps the meta table. Gates keep the ways apart, and workers that are through with
// one sleep, or poll for the others where those need it.
#include <spindrift/bench/papers/mesh.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::bench {

namespace {

using kernel::PhysicalEvent;
using kernel::PhysicalQueuePair;

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t arrival_patience_ns = 20'000'000'000;

enum MeshStep : std::size_t { looked_up, known, written, connected, ways };

/// All processes see this.
struct MeshMeeting {
  kernel::MetaServer server;
  std::array<kernel::Metadata, mesh_workers_max> metadata;
  std::array<kernel::MemoryKeys, mesh_workers_max> memories;
  Gate opened;
  Gate told;
  std::array<Gate, ways> starts;
  std::array<Gate, ways> ends;
  std::array<SharedWord, ways> through;  ///< how many workers are
  std::array<std::array<SharedWord, mesh_workers_max>, ways> took_ns;
};

class MeshWorker {
 public:
  MeshWorker(const MeshRun& run, std::uint32_t rank, MeshMeeting& meeting)
      : run_(run), rank_(rank), meeting_(meeting), words_(run.workers) {
    for (std::uint32_t i = 1; i < run.workers; ++i) others_.push_back((rank + i) % run.workers);
  }

  void work() {
    open();
    for (const MeshStep way : {looked_up, known, written, connected}) {
      if (way == connected) seeker_.reset();  // its pool would take the calls that come
      start_ns_ = meeting_.starts[way].pass(run_.workers);
      go(way);
      meeting_.ends[way].pass_asleep(run_.workers);
    }
  }

 private:
  static NodeId node_of(std::uint32_t rank) { return NodeId(rank + 1); }

  void open() {
    device_ =
        open_loopback_device(run_.provider, {.send_depth = 128, .receive_buffers = 16, .peers_max = 2 * run_.workers + 2});
    auto keys = value_or_throw(device_->register_memory(std::as_writable_bytes(std::span(words_)), fabric::Access::write));
    meeting_.metadata[rank_] = device_->metadata();
    meeting_.memories[rank_] = keys;
    meeting_.opened.pass_asleep(run_.workers + 1);
    meeting_.told.pass_asleep(run_.workers + 1);
    seeker_ =
        Seeker::start(*device_, meeting_.server, {.nodes_max = run_.workers, .pairs_max = 2 * run_.workers, .yields = true});
  }

  void go(MeshStep way) {
    switch (way) {
      case looked_up: return look_up_all();
      case known: return connect_known();
      case written: return write_to_all();
      case connected:
      case ways: break;
    }
    return connect_all();
  }

  void done(MeshStep way) {
    meeting_.took_ns[way][rank_].value.store(nanoseconds_now() - start_ns_);
    meeting_.through[way].value.fetch_add(1, std::memory_order_acq_rel);
  }
  [[nodiscard]] bool all_done(MeshStep way) const {
    return meeting_.through[way].value.load(std::memory_order_acquire) == run_.workers;
  }
  [[nodiscard]] bool late() const { return nanoseconds_now() - start_ns_ > arrival_patience_ns; }

  void look_up_all() {
    std::vector<NodeId> nodes;
    for (const std::uint32_t other : others_) nodes.push_back(node_of(other));
    seeker_->look_up_and_connect(nodes);
    done(looked_up);
    CHECK(seeker_->pairs() == others_.size());
    seeker_->close_all();
  }

  void connect_known() {
    for (const std::uint32_t other : others_) seeker_->connect(node_of(other), true);
    done(known);
    CHECK(seeker_->pairs() == others_.size());
    seeker_->close_all();
  }

  void write_to_all() {
    for (const std::uint32_t other : others_) {
      kernel::MemoryKeys place = meeting_.memories[other];
      place.remote_base += rank_ * sizeof(std::uint64_t);
      seeker_->connect_and_write(node_of(other), place, rank_ + 1);
    }
    done(written);
    while (!all_done(written) || !all_arrived()) {
      seeker_->progress();
      if (late()) throw Exception(Error(ErrorKind::timed_out, "what another worker wrote does not arrive"));
    }
  }
  [[nodiscard]] bool all_arrived() {
    return std::all_of(others_.begin(), others_.end(), [&](std::uint32_t other) {
      return std::atomic_ref(words_[other]).load(std::memory_order_acquire) == other + 1;
    });
  }

  // The worker of the lower rank calls the other one.
  void connect_all() {
    std::vector<std::unique_ptr<PhysicalQueuePair>> calls;
    std::vector<std::unique_ptr<PhysicalQueuePair>> accepted;
    for (std::uint32_t other = rank_ + 1; other < run_.workers; ++other) {
      calls.push_back(value_or_throw(device_->connect(meeting_.metadata[other], rank_)));
    }
    std::size_t standing = 0;
    bool told = false;
    while (!all_done(connected)) {
      if (auto call = device_->accepted(); call.queue_pair != nullptr) accepted.push_back(std::move(call.queue_pair));
      for (const auto& call : calls) {
        std::array<PhysicalEvent, 1> event;
        if (call->poll(event) == 0) continue;
        if (event[0].kind != PhysicalEvent::Kind::connected)
          throw Exception(Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason));
        ++standing;
      }
      if (!told && standing == calls.size() && accepted.size() == rank_) {
        told = true;
        done(connected);
      }
      if (late()) throw Exception(Error(ErrorKind::timed_out, "a worker does not accept"));
      ::sched_yield();
    }
  }

  const MeshRun& run_;
  const std::uint32_t rank_;
  MeshMeeting& meeting_;
  std::vector<std::uint64_t> words_;  // by rank, what it wrote here; outlives its registration
  std::vector<std::uint32_t> others_;
  std::unique_ptr<kernel::PhysicalDevice> device_;
  std::unique_ptr<Seeker> seeker_;
  std::uint64_t start_ns_ = 0;
};

void keep_table(const MeshRun& run, MeshMeeting& meeting) {
  meeting.opened.pass_asleep(run.workers + 1);
  TableKeeper keeper;
  keeper.start(run.provider, run.workers, run.workers);
  for (std::uint32_t rank = 0; rank < run.workers; ++rank)
    keeper.tell(NodeId(rank + 1), meeting.metadata[rank], meeting.memories[rank], run.workers * sizeof(std::uint64_t));
  meeting.server = keeper.server();
  meeting.told.pass_asleep(run.workers + 1);
  while (meeting.through[written].value.load(std::memory_order_acquire) < run.workers) {
    keeper.poll();
    ::sched_yield();
  }
}

std::uint64_t last_of(const MeshMeeting& meeting, MeshStep way, std::uint32_t workers) {
  std::uint64_t last = 0;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    last = std::max(last, meeting.took_ns[way][rank].value.load(std::memory_order_acquire));
  return last;
}

}  // namespace

MeshTimes measure_mesh(const MeshRun& run) {
  CHECK(run.workers >= 2 && run.workers <= mesh_workers_max);
  auto memory = SharedMemory::make(sizeof(MeshMeeting));
  MeshMeeting& meeting = memory.make_objects<MeshMeeting>(0, 1)[0];
  run_processes(run.workers + 1, patience, [&](std::uint32_t position) {
    position == run.workers ? keep_table(run, meeting) : MeshWorker(run, position, meeting).work();
  });
  return MeshTimes{last_of(meeting, looked_up, run.workers), last_of(meeting, known, run.workers),
                   last_of(meeting, written, run.workers), last_of(meeting, connected, run.workers)};
}

}  // namespace spindrift::bench
