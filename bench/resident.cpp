// Member processes are spoken to through two pipes each: they say when they are in the view, and end when their input does.
// Whatever way a run ends, no process of it stays behind.
#include <spindrift/bench/resident.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spindrift/bench/processes.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/group/group.hpp>

extern char** environ;

namespace spindrift::bench {

namespace {

class MemberProcess {
 public:
  explicit MemberProcess(std::uint32_t node) noexcept : node_(node) {}
  MemberProcess(MemberProcess&& other) noexcept
      : node_(other.node_),
        process_(std::exchange(other.process_, -1)),
        input_(std::move(other.input_)),
        output_(std::move(other.output_)) {}
  MemberProcess& operator=(MemberProcess&&) = delete;
  ~MemberProcess() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    static_cast<void>(reap());
  }

  void start(std::vector<std::string> command) {
    auto [reads, input] = make_pipe();
    input_ = std::move(input);
    auto [output, writes] = make_pipe();
    output_ = std::move(output);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, reads.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, writes.get(), STDOUT_FILENO);
    const int failed = ::posix_spawn(&process_, words[0], &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed == 0) return;
    process_ = -1;
    throw Exception(system_error("start " + command[0], failed));
  }

  /// The instant at which the member was in the view.
  std::uint64_t await_in_view() {
    std::string line;
    for (char byte = 0; byte != '\n';) {
      const auto bytes = ::read(output_.get(), &byte, 1);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0)
        throw Exception(Error(ErrorKind::member_lost, fmt::format("member {} ended before it was in the view", node_)));
      line += byte;
    }
    std::uint64_t instant_ns = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), instant_ns);
    if (parsed.ec != std::errc() || *parsed.ptr != '\n') {
      throw Exception(Error(ErrorKind::bad_input, fmt::format("member {} said \"{}\" instead of a number", node_, line)));
    }
    return instant_ns;
  }

  /// CPU time of the whole process so far, user and system.
  [[nodiscard]] double cpu_seconds() const {
    clockid_t clock{};
    timespec used{};
    const int failed = ::clock_getcpuclockid(process_, &clock);
    if (failed != 0) throw Exception(system_error("clock_getcpuclockid", failed));
    if (::clock_gettime(clock, &used) != 0) throw Exception(system_error("clock_gettime", errno));
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }

  /// A size that a file of this process in /proc gives in kB, in bytes.
  [[nodiscard]] std::uint64_t memory_bytes(std::string_view file, std::string_view field) const {
    const std::string path = fmt::format("/proc/{}/{}", process_, file);
    std::ifstream in(path);
    std::string name;
    for (std::uint64_t kilobytes = 0; in >> name;) {
      if (name == field && in >> kilobytes) return kilobytes * 1024;
      in.ignore(4096, '\n');
    }
    throw Exception(Error(ErrorKind::resource, fmt::format("no {}", field)).at(path));
  }

  /// Lets it leave.
  void dismiss() noexcept { input_.reset(); }

  /// Waits until it has ended, as it was dismissed to do.
  void end() {
    const int status = reap();
    if (status != 0)
      throw Exception(Error(ErrorKind::member_lost, fmt::format("member {} ended with status {:#x}", node_, status)));
  }

 private:
  static std::pair<FileDescriptor, FileDescriptor> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Exception(system_error("pipe2", errno));
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }
  int reap() noexcept {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

  std::uint32_t node_;
  pid_t process_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
};

class ResidentGroup {
 public:
  explicit ResidentGroup(PrivateDirectory directory) : directory_(std::move(directory)) {}

  /// Returns the seconds until all are in the view.
  double start(const ResidentRun& run) {
    const std::string config_path = directory_.path() + "/bench.cfg";
    std::ofstream config(config_path);
    config << group_config_text(run.shape, directory_.path());
    config.close();
    if (!config) throw Exception(Error(ErrorKind::resource, "cannot be written").at(config_path));

    const std::uint64_t start_ns = nanoseconds_now();
    members_.reserve(run.shape.members);
    for (std::uint32_t node = 0; node < run.shape.members; ++node) {
      std::vector<std::string> command = run.command;
      command.insert(command.end(), {config_path, std::to_string(node)});
      for (const ConfigOverride& setting : run.shape.settings) command.push_back(setting.name + "=" + setting.value);
      members_.emplace_back(node);
      members_.back().start(std::move(command));
    }
    std::uint64_t last_ns = start_ns;
    for (MemberProcess& member : members_) {
      const auto in_view_ns = member.await_in_view();
      last_ns = std::max(last_ns, in_view_ns);
    }
    return seconds_between(start_ns, last_ns);
  }

  [[nodiscard]] const std::vector<MemberProcess>& members() const noexcept { return members_; }

  [[nodiscard]] double cpu_seconds() const {
    double sum = 0;
    for (const MemberProcess& member : members_) {
      const auto seconds = member.cpu_seconds();
      sum += seconds;
    }
    return sum;
  }

  void end() {
    for (MemberProcess& member : members_) member.dismiss();
    for (MemberProcess& member : members_) member.end();
  }

 private:
  PrivateDirectory directory_;
  std::vector<MemberProcess> members_;
};

}  // namespace

double run_start(const ResidentRun& run) {
  auto directory = PrivateDirectory::make();
  ResidentGroup group(std::move(directory));
  const auto seconds = group.start(run);
  group.end();
  return seconds;
}

IdleResult run_idle(const ResidentRun& run, Duration duration) {
  auto directory = PrivateDirectory::make();
  ResidentGroup group(std::move(directory));
  group.start(run);

  const auto wait_for = [](Duration time) {
    const timespec request{time.count() / 1'000'000'000, time.count() % 1'000'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
  };
  wait_for(std::chrono::milliseconds(500));  // what starting costs is no part of being idle
  const std::uint64_t start_ns = nanoseconds_now();
  const auto before = group.cpu_seconds();
  wait_for(duration);
  const auto after = group.cpu_seconds();

  IdleResult result{(after - before) / seconds_between(start_ns, nanoseconds_now()), {}, {}};
  for (const MemberProcess& member : group.members()) {
    const auto resident = member.memory_bytes("status", "VmRSS:");
    const auto proportional = member.memory_bytes("smaps_rollup", "Pss:");
    result.resident_bytes.push_back(resident);
    result.proportional_bytes.push_back(proportional);
  }
  group.end();
  return result;
}

void run_resident_member(const std::string& config_path, NodeId node, std::vector<ConfigOverride> settings) {
  log_errors_only();
  settings.push_back({"DERECHO/local_id", std::to_string(node.value()), "the bench"});
  Group group(value_or_throw(Config::read(config_path, settings)));
  group.subgroup(subgroup_name).on_delivery([](std::span<const Delivery>) {});
  const std::string line = fmt::format("{}\n", nanoseconds_now());
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) throw Exception(system_error("write", errno));
  char ignored = 0;
  while (::read(STDIN_FILENO, &ignored, 1) > 0) {
  }
  group.leave();
}

}  // namespace spindrift::bench
