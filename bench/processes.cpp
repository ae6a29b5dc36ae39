// Forked processes report through one pipe: a line when they fail, its end when the last of them is gone. So the parent
// waits for one descriptor, and a process that crashes cannot be waited for in vain.
#include <spindrift/bench/processes.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/process.hpp>

namespace spindrift::bench {

namespace {

/// The first byte of a report is the ErrorKind, the rest its text. Short enough to be written in one piece.
constexpr std::size_t report_bytes_max = 1024;

[[noreturn]] void run_child(std::uint32_t position, int report, const std::function<void(std::uint32_t)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  try {
    body(position);
    ::_exit(0);
  } catch (const Exception& exception) {
    text = static_cast<char>(exception.error().kind()) + std::string(exception.what());
  } catch (const std::exception& exception) {
    text = static_cast<char>(ErrorKind::resource) + std::string(exception.what());
  }
  text.resize(std::min(text.size(), report_bytes_max));
  const auto written = ::write(report, text.data(), text.size());
  ::_exit(written < 0 ? 2 : 1);
}

std::optional<Error> crash_of(std::size_t position, bool by_signal, int code) {
  if (code == 0) return std::nullopt;
  return Error(ErrorKind::member_lost, by_signal ? fmt::format("process {} of the bench ended by signal {}", position, code)
                                                 : fmt::format("process {} of the bench ended with {}", position, code));
}

/// Descriptors that are readable when their processes have ended.
std::vector<FileDescriptor> descriptors_of(const std::vector<pid_t>& processes) {
  std::vector<FileDescriptor> ends;
  for (const pid_t process : processes) {
    ends.emplace_back(open_process(process));
    if (!ends.back()) throw Exception(system_error("pidfd_open", errno));
  }
  return ends;
}

/// How a process that has ended did that; nothing: as it should. It stays to be reaped.
std::optional<Error> crash_of(std::size_t position, pid_t process) {
  siginfo_t how{};
  if (::waitid(P_PID, static_cast<id_t>(process), &how, WEXITED | WNOHANG | WNOWAIT) != 0)
    return system_error("waitid", errno);
  return crash_of(position, how.si_code != CLD_EXITED, how.si_status);
}

/// The report that the pipe has by the deadline, or what a process ended by that could not report: the others may wait for
/// it. Nothing if all ended as they should.
std::optional<Error> first_report(int report, const std::vector<pid_t>& processes, std::uint64_t deadline_ns) {
  const std::vector<FileDescriptor> ends = descriptors_of(processes);
  std::vector<pollfd> waiting{{report, POLLIN, 0}};
  for (const FileDescriptor& end : ends) waiting.push_back({end.get(), POLLIN, 0});
  while (true) {
    const std::uint64_t now_ns = nanoseconds_now();
    if (now_ns >= deadline_ns) return Error(ErrorKind::would_block, "the processes of the bench did not end in time");
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>((deadline_ns - now_ns) / 1'000'000 + 1));
    if (ready < 0 && errno != EINTR) return system_error("poll", errno);
    if (ready <= 0) continue;
    if (waiting.front().revents != 0) {
      std::string text(report_bytes_max, '\0');
      const auto bytes = ::read(report, text.data(), text.size());
      if (bytes < 0) return system_error("read", errno);
      if (bytes == 0) return std::nullopt;
      return Error(static_cast<ErrorKind>(text[0]), text.substr(1, static_cast<std::size_t>(bytes) - 1));
    }
    for (std::size_t position = 0; position < processes.size(); ++position) {
      pollfd& end = waiting[position + 1];
      if (end.revents == 0) continue;
      if (auto crash = crash_of(position, processes[position])) return crash;
      end.fd = -1;
    }
  }
}

/// Waits for every process, killed before if `kill_first`. Names the first that ended by a signal of its own.
std::optional<Error> reap(const std::vector<pid_t>& processes, bool kill_first) {
  std::optional<Error> crash;
  if (kill_first) {
    for (const pid_t process : processes) ::kill(process, SIGKILL);
  }
  for (std::size_t position = 0; position < processes.size(); ++position) {
    int status = 0;
    while (::waitpid(processes[position], &status, 0) < 0 && errno == EINTR) {
    }
    if (crash || kill_first || status == 0) continue;
    crash = crash_of(position, WIFSIGNALED(status), WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  return crash;
}

}  // namespace

SharedMemory SharedMemory::make(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw Exception(system_error(fmt::format("mmap {} bytes", bytes), errno));
  return SharedMemory({static_cast<std::byte*>(memory), bytes});
}

SharedMemory::~SharedMemory() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

void run_processes(std::uint32_t count, Duration patience, const std::function<void(std::uint32_t)>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Exception(system_error("pipe2", errno));
  const std::uint64_t deadline_ns = nanoseconds_now() + static_cast<std::uint64_t>(patience.count());
  std::vector<pid_t> processes;
  std::optional<Error> error;
  while (processes.size() < count && !error) {
    const pid_t process = ::fork();
    if (process == 0) run_child(static_cast<std::uint32_t>(processes.size()), ends[1], body);
    if (process < 0) error = system_error("fork", errno);
    if (process > 0) processes.push_back(process);
  }
  ::close(ends[1]);
  if (!error) error = first_report(ends[0], processes, deadline_ns);
  const auto crash = reap(processes, error.has_value());
  ::close(ends[0]);
  if (!error) error = crash;
  if (error) throw Exception(*std::move(error));
}

StartedProcesses::~StartedProcesses() {
  for (std::size_t number = 0; number < processes_.size(); ++number) end(number, SIGKILL);
}

void StartedProcesses::start(std::size_t number, const std::function<int()>& body) {
  const pid_t process = ::fork();
  if (process < 0) throw Exception(system_error("fork", errno));
  processes_[number] = process;
  if (process > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(body());
}

void StartedProcesses::end(std::size_t number, int signal) noexcept {
  const pid_t process = std::exchange(processes_[number], -1);
  if (process < 0) return;
  if (signal != 0) ::kill(process, signal);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool StartedProcesses::take_ended(std::size_t number) noexcept {
  const pid_t process = processes_[number];
  if (process < 0 || ::waitpid(process, nullptr, WNOHANG) != process) return false;
  processes_[number] = -1;
  return true;
}

std::uint64_t Gate::pass(std::uint64_t count) noexcept {
  if (arrived_.value.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    opened_at_ns_.value.store(nanoseconds_now(), std::memory_order_release);
  }
  std::uint64_t opened_at_ns = 0;
  while ((opened_at_ns = opened_at_ns_.value.load(std::memory_order_acquire)) == 0) ::sched_yield();
  return opened_at_ns;
}

void Gate::pass_asleep(std::uint64_t count) noexcept {
  std::uint64_t arrived = arrived_.value.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == count) return futex_wake(arrived_, std::numeric_limits<int>::max());
  for (; arrived < count; arrived = arrived_.value.load(std::memory_order_acquire)) futex_wait(arrived_, arrived);
}

void futex_wake(SharedWord& word, int count) noexcept {
  ::syscall(SYS_futex, &word.value, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

void futex_wait(SharedWord& word, std::uint64_t seen) noexcept {
  ::syscall(SYS_futex, &word.value, FUTEX_WAIT, static_cast<std::uint32_t>(seen), nullptr, nullptr, 0);
}

void name_thread(const char* name) noexcept { ::prctl(PR_SET_NAME, name); }

void pause_for(Duration time) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec request{whole.count(), Duration(time - whole).count()};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
}

bool pin_to_cpu(std::uint32_t position) noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || position-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

std::uint64_t nanoseconds_now() noexcept {
  return static_cast<std::uint64_t>(Duration(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace spindrift::bench
