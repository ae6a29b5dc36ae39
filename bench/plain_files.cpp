// Each process has a file of its own, as each node has a journal of its own.
#include <spindrift/bench/plain_files.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <utility>

#include <spindrift/bench/processes.hpp>

namespace spindrift::bench {
namespace {

using store::Blocks;

constexpr Duration patience = std::chrono::minutes(2);
constexpr int warm_writes = 10;

/// The instants of one round in one process.
struct alignas(cache_line_bytes) RoundTimes {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

}  // namespace

DiskDirectory::DiskDirectory(const std::string& above) {
  directory_.emplace(std::filesystem::absolute(above).string(), "spindrift-bench-", false);
}

// The disk has work with what is removed, which must not fall into the next run's time.
DiskDirectory::~DiskDirectory() {
  const std::filesystem::path parent = std::filesystem::path(path()).parent_path();
  directory_.reset();
  const FileDescriptor above(::open(parent.c_str(), O_RDONLY | O_CLOEXEC));
  if (above) ::syncfs(above.get());
}

PlainFile::PlainFile(const std::string& path, Content content) {
  // Some file systems cannot do without the cache.
  file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, 0600));
  if (!file_ && errno == EINVAL) file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file_) throw Exception(system_error("open", errno).at(path));
  if (::fallocate(file_.get(), 0, 0, bytes) != 0) throw Exception(system_error("fallocate", errno).at(path));
  if (content == Content::set_aside) return;
  const Blocks zeros(std::size_t{1} << 20U);
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) write(zeros, at);
  if (::fsync(file_.get()) != 0) throw Exception(system_error("fsync", errno).at(path));
}

void PlainFile::append_and_sync(const Blocks& blocks) {
  if (!has_space(blocks.size())) at_ = 0;
  write(blocks, at_);
  at_ += blocks.size();
  if (::fdatasync(file_.get()) != 0) throw Exception(system_error("fdatasync", errno));
}

void PlainFile::write(const Blocks& blocks, std::uint64_t at) const {
  const ssize_t written = ::pwrite(file_.get(), blocks.data(), blocks.size(), static_cast<off_t>(at));
  if (written != static_cast<ssize_t>(blocks.size())) throw Exception(system_error("pwrite", errno));
}

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)), file_(next_file()) {}

PlainFile GrowingFile::next_file() {
  return PlainFile(path_ + "." + std::to_string(number_++), PlainFile::Content::set_aside);
}

void GrowingFile::append_and_sync(const Blocks& blocks) {
  if (!file_.has_space(blocks.size())) file_ = next_file();
  file_.append_and_sync(blocks);
}

std::vector<std::uint64_t> file_latencies_ns(const FilesRun& run, std::uint64_t writes) {
  const DiskDirectory directory(run.directory);
  auto memory = SharedMemory::make(sizeof(Gate) + run.processes * writes * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto times = memory.make_objects<SharedWord>(sizeof(Gate), run.processes * writes);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    PlainFile file(directory.of(self), PlainFile::Content::written);
    const Blocks blocks(store::whole_blocks(run.bytes));
    for (int warm = 0; warm < warm_writes; ++warm) file.append_and_sync(blocks);
    static_cast<void>(gate.pass(run.processes));
    for (std::uint64_t i = 0; i < writes; ++i) {
      const std::uint64_t begin_ns = nanoseconds_now();
      file.append_and_sync(blocks);
      times[self * writes + i].value = nanoseconds_now() - begin_ns;
    }
  });
  std::vector<std::uint64_t> all;
  for (const SharedWord& each : times) all.push_back(each.value);
  return all;
}

std::vector<std::uint64_t> file_rounds_ns(const FilesRun& run, std::uint64_t rounds) {
  const DiskDirectory directory(run.directory);
  const std::uint64_t gates_bytes = (warm_writes + rounds) * sizeof(Gate);
  auto memory = SharedMemory::make(gates_bytes + run.processes * rounds * sizeof(RoundTimes));
  const auto gates = memory.make_objects<Gate>(0, warm_writes + rounds);
  const auto times = memory.make_objects<RoundTimes>(gates_bytes, run.processes * rounds);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    PlainFile file(directory.of(self), PlainFile::Content::written);
    const Blocks blocks(store::whole_blocks(run.bytes));
    for (std::uint64_t i = 0; i < gates.size(); ++i) {
      const std::uint64_t begin_ns = gates[i].pass(run.processes);
      file.append_and_sync(blocks);
      if (i >= warm_writes) times[(i - warm_writes) * run.processes + self] = {begin_ns, nanoseconds_now()};
    }
  });
  std::vector<std::uint64_t> all;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto of_round = times.subspan(round * run.processes, run.processes);
    const auto last = std::ranges::max_element(of_round, {}, &RoundTimes::end_ns);
    all.push_back(last->end_ns - last->begin_ns);
  }
  return all;
}

double file_batches_per_second(const FilesRun& run, Duration duration) {
  const DiskDirectory directory(run.directory);
  auto memory = SharedMemory::make(sizeof(Gate) + run.processes * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto counts = memory.make_objects<SharedWord>(sizeof(Gate), run.processes);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    const Blocks batch(store::whole_blocks(run.bytes));
    GrowingFile file(directory.of(self));
    const std::uint64_t begin_ns = gate.pass(run.processes);
    const std::uint64_t end_ns = begin_ns + static_cast<std::uint64_t>(duration.count());
    do {
      file.append_and_sync(batch);
      ++counts[self].value;
    } while (nanoseconds_now() < end_ns);
  });
  std::uint64_t batches = 0;
  for (const SharedWord& each : counts) batches += each.value;
  return static_cast<double>(batches) / run.processes / std::chrono::duration<double>(duration).count();
}

}  // namespace spindrift::bench
