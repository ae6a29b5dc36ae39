// Its processes write to files, which are read when they have ended by themselves.
#include <spindrift/bench/ddsperf.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/report.hpp>

namespace spindrift::bench {
namespace {

/// On loopback alone, whatever the host's networks are and whatever its user has set.
constexpr const char* loopback =
    "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"false\"/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast><MaxMessageSize>65500B</MaxMessageSize></General><Discovery>"
    "<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain>"
    "</CycloneDDS>";

/// The lines that have that word.
std::vector<std::string> lines_with(std::string_view said, const std::string& word) {
  std::vector<std::string> lines;
  std::istringstream text{std::string(said)};
  for (std::string line; std::getline(text, line);) {
    if (line.find(word) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

/// The number behind that word; nothing: there is none.
std::optional<double> number_behind(const std::string& line, const std::string& word) {
  const auto at = line.find(word);
  if (at == std::string::npos) return std::nullopt;
  const char* const begin = line.c_str() + at + word.size();
  char* end = nullptr;
  const double number = std::strtod(begin, &end);
  if (end == begin) return std::nullopt;
  return number;
}

double median(std::vector<double> values) { return summarize(std::move(values)).median; }

/// Processes of one run, and what each of them says.
class PeerProcesses {
 public:
  explicit PeerProcesses(std::size_t count) : processes_(count) {}

  void start(std::size_t number, std::vector<std::string> words) {
    words.insert(words.begin(), {"ddsperf", "-i", std::to_string(1 + ::getpid() % 200)});
    processes_.start(number, [&, path = path_of(number)] {
      const int output = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (output < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) return 1;
      ::setenv("CYCLONEDDS_URI", loopback, 1);
      std::vector<char*> arguments;
      for (std::string& each : words) arguments.push_back(each.data());
      arguments.push_back(nullptr);
      ::execvp("ddsperf", arguments.data());
      return 127;
    });
  }
  /// Waits for its end.
  [[nodiscard]] std::string words_of(std::size_t number) {
    processes_.end(number, 0);
    std::ifstream file(path_of(number));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  [[nodiscard]] std::string path_of(std::size_t number) const { return fmt::format("{}/{}", directory_.path(), number); }

  PrivateDirectory directory_ = PrivateDirectory::make();
  StartedProcesses processes_;
};

[[noreturn]] void throw_not_understood(const std::string& said) {
  throw Exception(Error(ErrorKind::bad_input, "ddsperf did not say what was expected of it: " + said.substr(0, 300))
                      .fix("try it by hand, or measure without it: --alone"));
}

}  // namespace

std::vector<double> subscriber_rates(std::string_view said) {
  std::vector<double> rates;
  for (const std::string& line : lines_with(said, " delta ")) {
    if (const auto thousands = number_behind(line, " rate ")) rates.push_back(*thousands * 1000);
  }
  if (rates.size() < 4) return {};
  return {rates.begin() + 2, rates.end() - 1};
}

std::optional<PeerTrips> pinger_trips(std::string_view said) {
  std::vector<double> middle;
  std::vector<double> late;
  for (const std::string& line : lines_with(said, " mean ")) {
    const auto p50 = number_behind(line, " 50% ");
    const auto p99 = number_behind(line, " 99% ");
    if (!p50 || !p99) continue;
    middle.push_back(*p50);
    late.push_back(*p99);
  }
  if (middle.size() < 2) return std::nullopt;
  middle.erase(middle.begin());
  late.erase(late.begin());
  return PeerTrips{median(middle), median(late)};
}

bool ddsperf_installed() {
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string each; std::getline(directories, each, ':');) {
    if (::access((std::filesystem::path(each) / "ddsperf").c_str(), X_OK) == 0) return true;
  }
  return false;
}

double ddsperf_samples_per_second(std::uint32_t subscribers, std::uint64_t bytes) {
  PeerProcesses processes(subscribers + std::size_t{1});
  for (std::uint32_t i = 0; i < subscribers; ++i) processes.start(i, {"-D", "7", "sub"});
  processes.start(subscribers, {"-D", "6", "pub", "size", std::to_string(bytes)});
  static_cast<void>(processes.words_of(subscribers));
  std::optional<double> fewest;
  for (std::uint32_t i = 0; i < subscribers; ++i) {
    const std::string said = processes.words_of(i);
    const std::vector<double> rates = subscriber_rates(said);
    if (rates.empty()) throw_not_understood(said);
    fewest = std::min(fewest.value_or(median(rates)), median(rates));
  }
  return *fewest;
}

PeerTrips ddsperf_round_trips(std::uint64_t bytes) {
  PeerProcesses processes(2);
  processes.start(0, {"-D", "5", "pong"});
  processes.start(1, {"-D", "4", "ping", "size", std::to_string(bytes)});
  const std::string said = processes.words_of(1);
  static_cast<void>(processes.words_of(0));
  const auto trips = pinger_trips(said);
  if (!trips) throw_not_understood(said);
  return *trips;
}

}  // namespace spindrift::bench
