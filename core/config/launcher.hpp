// The place of this process among those that one launcher has started together, by the variables that the launcher sets:
// Open MPI's mpirun, launchers that speak PMI (MPICH's and Intel MPI's mpiexec), Slurm's srun. For `local_id = launcher`,
// `members = launcher` and `addresses = launcher:7400`.
//
// Remember: every process works out the same places by itself; the place that its launcher gives it must agree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/config/keys.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::config {

/// The place where one of the processes runs.
struct LaunchPlace {
  std::string host;
  std::uint32_t place = 0;  ///< among the processes on that host, from 0
  friend bool operator==(const LaunchPlace&, const LaunchPlace&) = default;
};

struct Launch {
  std::string launcher;         ///< for people: "Slurm"
  std::uint32_t rank = 0;       ///< less than `processes`
  std::uint32_t processes = 1;  ///< at most 1024, as many as a group may have
  /// By rank. Errors: bad_config: the launcher does not say where the others run, or says it in a way not known here.
  Result<std::vector<LaunchPlace>> places;
};

/// Errors: bad_config: no launcher's variables are there, or they make no sense.
[[nodiscard]] Result<Launch> find_launch(const Config::Environment& environment);

/// The hosts of a list as Slurm writes it, in its order: "login,node[08-10,12]" is login, node08, node09, node10 and node12.
/// Errors: bad_config.
[[nodiscard]] Result<std::vector<std::string>> expand_hosts(std::string_view list);

/// Whether a value stands for what the launcher says: "launcher", and "launcher:" and a port for addresses.
[[nodiscard]] bool is_launched(std::string_view text) noexcept;

/// The value that `text`, for which `is_launched`, stands for in a key of that type (an integer is the own id, a node list
/// all ids): as one would write it. Errors: bad_config, without place.
[[nodiscard]] Result<std::string> launched_value(KeyType type, std::string_view text, const Launch& launch);

}  // namespace spindrift::config
