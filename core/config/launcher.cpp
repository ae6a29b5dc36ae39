// Reading launchers' variables.
#include <spindrift/core/config/launcher.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

constexpr std::string_view word = "launcher";
constexpr std::uint32_t processes_max = 1024;
constexpr std::uint32_t port_max = 65535;
constexpr std::string_view write_addresses =
    "write out [SPINDRIFT] addresses, id@host:port for each, or a pattern with <id>";

Error wrong(std::string what, std::string fix) { return Error(ErrorKind::bad_config, std::move(what)).fix(std::move(fix)); }

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The variables of one process.
class Variables {
 public:
  explicit Variables(const Config::Environment& all) : all_(all) {}
  [[nodiscard]] bool has(const char* name) const { return all_.contains(name); }
  [[nodiscard]] std::string_view text(const char* name) const {
    const auto found = all_.find(name);
    return found == all_.end() ? std::string_view() : std::string_view(found->second);
  }
  /// The first of these that is set.
  [[nodiscard]] std::string_view first(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (has(name)) return text(name);
    }
    return {};
  }
  [[nodiscard]] std::optional<std::uint32_t> value(const char* name) const { return number(text(name)); }

 private:
  const Config::Environment& all_;
};

Result<std::vector<LaunchPlace>> nowhere(std::string_view launcher) {
  return wrong(fmt::format("{} does not tell a process where the others run", launcher), std::string(write_addresses));
}

/// All on this host, which is all that these launchers let one know.
Result<std::vector<LaunchPlace>> places_on_one_host(std::string_view launcher, std::uint32_t processes,
                                                    std::optional<std::uint32_t> here) {
  if (here != processes) return nowhere(launcher);
  std::vector<LaunchPlace> places;
  for (std::uint32_t rank = 0; rank < processes; ++rank) places.push_back({"127.0.0.1", rank});
  return places;
}

Result<Launch> launch(std::string launcher, std::string_view rank, std::string_view processes) {
  const auto own = number(rank);
  const auto all = number(processes);
  if (!own || !all || *own >= *all || *all > processes_max) {
    return wrong(
        fmt::format("{} says that this process is number {} of {}", launcher, in_quotes(rank), in_quotes(processes)),
        fmt::format("start 1 to {} processes together, or write out local_id and members", processes_max));
  }
  return Launch{std::move(launcher), *own, *all, nowhere(launcher)};
}

/// "2(x3),1": how many processes each host has, run by run.
std::optional<std::vector<std::uint32_t>> counts_of(std::string_view text, std::size_t hosts) {
  std::vector<std::uint32_t> counts;
  for (const std::string_view run : split(text, ',')) {
    const std::size_t bracket = run.find("(x");
    const auto count = number(run.substr(0, bracket));
    std::optional<std::uint32_t> times = 1;
    if (bracket != std::string_view::npos) {
      if (run.back() != ')') return std::nullopt;
      times = number(run.substr(bracket + 2, run.size() - bracket - 3));
    }
    if (!count || !times || *times > hosts - counts.size()) return std::nullopt;
    counts.insert(counts.end(), *times, *count);
  }
  if (counts.size() != hosts) return std::nullopt;
  return counts;
}

std::vector<LaunchPlace> in_blocks(const std::vector<std::string>& hosts, const std::vector<std::uint32_t>& counts) {
  std::vector<LaunchPlace> places;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (std::uint32_t i = 0; i < counts[host] && places.size() <= processes_max; ++i) places.push_back({hosts[host], i});
  }
  return places;
}

std::vector<LaunchPlace> in_turn(const std::vector<std::string>& hosts, const std::vector<std::uint32_t>& counts) {
  std::vector<LaunchPlace> places;
  for (std::uint32_t i = 0; places.size() <= processes_max; ++i) {
    const std::size_t before = places.size();
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      if (i < counts[host]) places.push_back({hosts[host], i});
    }
    if (places.size() == before) break;
  }
  return places;
}

Result<std::vector<LaunchPlace>> slurm_places(const Variables& variables, std::uint32_t rank, std::uint32_t processes) {
  const std::string_view list = variables.first({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const std::string_view tasks = variables.first({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (list.empty() || tasks.empty()) return nowhere("Slurm");
  SPINDRIFT_TRY_ASSIGN(const auto hosts, expand_hosts(list));
  const auto counts = counts_of(tasks, hosts.size());
  if (!counts) {
    return wrong(fmt::format("Slurm's tasks per node, {}, do not fit its {} nodes", in_quotes(tasks), hosts.size()),
                 std::string(write_addresses));
  }
  const std::string_view order = variables.text("SLURM_DISTRIBUTION");
  const std::string_view across = order.substr(0, order.find_first_of(":,"));
  const bool cyclic = across == "cyclic";
  auto places = cyclic ? in_turn(hosts, *counts) : in_blocks(hosts, *counts);
  // Slurm's word about this process shows whether its order is one that is known here.
  const auto host = variables.value("SLURM_NODEID");
  const auto place = variables.value("SLURM_LOCALID");
  const bool agrees = places.size() == processes && host && *host < hosts.size() && place &&
                      places[rank] == LaunchPlace{hosts[*host], *place};
  if (!agrees) {
    return wrong(
        fmt::format("Slurm has not placed its tasks in blocks or in turn (SLURM_DISTRIBUTION = {})", in_quotes(order)),
        fmt::format("start them with --distribution=block, or {}", write_addresses));
  }
  return places;
}

/// "08-10,12" of brackets: what stands in place of them.
std::optional<std::vector<std::string>> expand_range(std::string_view range) {
  std::vector<std::string> all;
  for (const std::string_view part : split(range, ',')) {
    const std::size_t dash = part.find('-');
    const std::string_view low = part.substr(0, dash);
    const auto first = number(low);
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= processes_max) return std::nullopt;
    for (std::uint32_t i = 0; i <= *last - *first; ++i) all.push_back(fmt::format("{:0{}}", *first + i, low.size()));
  }
  return all;
}

/// One entry, which may have several brackets; appends.
bool expand_entry(std::string_view entry, std::vector<std::string>& hosts) {
  std::vector<std::string> names = {""};
  while (!entry.empty()) {
    const std::size_t open = entry.find('[');
    for (std::string& name : names) name += entry.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = entry.find(']', open);
    if (close == std::string_view::npos) return false;
    const auto middle = expand_range(entry.substr(open + 1, close - open - 1));
    if (!middle || names.size() * middle->size() > processes_max) return false;
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& part : *middle) longer.push_back(name + part);
    }
    names = std::move(longer);
    entry.remove_prefix(close + 1);
  }
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  };
  for (std::string& name : names) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), allowed)) return false;
    hosts.push_back(std::move(name));
  }
  return hosts.size() <= processes_max;
}

std::string all_ids(const Launch& launch) {
  std::vector<std::uint32_t> ids(launch.processes);
  std::iota(ids.begin(), ids.end(), 0U);
  return fmt::format("{}", fmt::join(ids, ", "));
}

Result<std::string> all_addresses(const Launch& launch, std::string_view text) {
  const auto port = text.size() > word.size() ? number(text.substr(word.size() + 1)) : std::nullopt;
  if (!port || *port == 0 || *port > port_max) {
    return wrong(fmt::format("{} names no port", in_quotes(text)),
                 "write the port of a host's first process: launcher:7400");
  }
  SPINDRIFT_TRY_ASSIGN(const std::vector<LaunchPlace> places, launch.places);
  std::string addresses;
  for (std::uint32_t rank = 0; rank < launch.processes; ++rank) {
    const LaunchPlace& place = places[rank];
    if (*port + place.place > port_max) {
      return wrong(fmt::format("there are not enough ports from {} on for the processes on host {}", *port, place.host),
                   "write a smaller port");
    }
    addresses += fmt::format("{}{}@{}:{}", rank == 0 ? "" : ", ", rank, place.host, *port + place.place);
  }
  return addresses;
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) {
      if (list[i] == '[') inside = true;
      if (list[i] == ']') inside = false;
      if (list[i] != ',' || inside) continue;
    }
    if (!expand_entry(trimmed(list.substr(begin, i - begin)), hosts)) {
      return wrong(fmt::format("{} is no list of hosts as Slurm writes it", in_quotes(list)), std::string(write_addresses));
    }
    begin = i + 1;
  }
  return hosts;
}

// A job script of Slurm's has its variables too, also where it starts another launcher: what that one says goes first.
Result<Launch> find_launch(const Config::Environment& environment) {
  const Variables variables(environment);
  if (variables.has("OMPI_COMM_WORLD_RANK")) {
    auto found = launch("Open MPI", variables.text("OMPI_COMM_WORLD_RANK"), variables.text("OMPI_COMM_WORLD_SIZE"));
    if (found) {
      Launch& own = found.value();
      own.places = places_on_one_host(own.launcher, own.processes, variables.value("OMPI_COMM_WORLD_LOCAL_SIZE"));
    }
    return found;
  }
  const std::string_view tasks = variables.first({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  const bool slurms = variables.has("SLURM_PROCID") && !tasks.empty();
  const bool pmis = variables.has("PMI_RANK");
  const bool same = variables.text("PMI_RANK") == variables.text("SLURM_PROCID") && variables.text("PMI_SIZE") == tasks;
  if (pmis && !(slurms && same)) {
    auto found = launch("PMI", variables.text("PMI_RANK"), variables.text("PMI_SIZE"));
    if (found) {
      Launch& own = found.value();
      own.places = places_on_one_host(own.launcher, own.processes, variables.value("MPI_LOCALNRANKS"));
    }
    return found;
  }
  if (slurms) {
    auto found = launch("Slurm", variables.text("SLURM_PROCID"), tasks);
    if (found) found.value().places = slurm_places(variables, found.value().rank, found.value().processes);
    return found;
  }
  return wrong("no launcher has started this process: neither OMPI_COMM_WORLD_RANK nor PMI_RANK nor SLURM_PROCID is set",
               "start it by mpirun, mpiexec or srun, or write the value out");
}

bool is_launched(std::string_view text) noexcept {
  text = trimmed(text);
  return text == word || (text.starts_with(word) && text.substr(word.size()).starts_with(':'));
}

Result<std::string> launched_value(KeyType type, std::string_view text, const Launch& launch) {
  switch (type) {
    case KeyType::integer: return std::to_string(launch.rank);
    case KeyType::node_list: return all_ids(launch);
    default: CHECK(type == KeyType::addresses); return all_addresses(launch, trimmed(text));
  }
}

}  // namespace spindrift::config
