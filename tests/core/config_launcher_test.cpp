// Groups that a launcher starts: who a process is, and where the others are, from the variables of Open MPI, PMI and Slurm.
#include "config_fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <spindrift/core/config/launcher.hpp>

using namespace spindrift;
using namespace spindrift::test;

namespace {

const std::string all_by_launcher =
    "[SPINDRIFT]\nfabric = ofi:tcp\nmembers = launcher\naddresses = launcher:7400\nnetwork_trusted = true\n"
    "[DERECHO]\nlocal_id = launcher\n"
    "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";

Config::Environment slurm(const std::string& rank, const std::string& node, const std::string& place) {
  return {{"SLURM_PROCID", rank},        {"SLURM_NTASKS", "5"},    {"SLURM_STEP_NODELIST", "rack1-n[09-10],fat"},
          {"SLURM_NODEID", node},        {"SLURM_LOCALID", place}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
          {"SLURM_JOB_NODELIST", "none"}};
}

std::string addresses(const Config& config) { return effective(config, "SPINDRIFT", "addresses").value; }

void check_refused(const Config::Environment& environment, const std::string& place, const std::string& cause) {
  check_problems(Config::check_text(all_by_launcher, "test.cfg", {}, environment), {{place, cause, "write"}});
}

}  // namespace

TEST_CASE("Slurm says who a process is and where all are, in blocks") {
  const Config config = parse(all_by_launcher, {}, slurm("3", "1", "1"));
  CHECK(config.local_id() == NodeId(3));
  CHECK(config.view().value().members == ids({0, 1, 2, 3, 4}));
  CHECK(addresses(config) == "0@rack1-n09:7400, 1@rack1-n09:7401, 2@rack1-n10:7400, 3@rack1-n10:7401, 4@fat:7400");
  CHECK(effective(config, "DERECHO", "local_id").origin == "test.cfg:7 by Slurm");
}

TEST_CASE("Slurm says where all are, in turn") {
  Config::Environment environment = slurm("3", "0", "1");
  environment["SLURM_DISTRIBUTION"] = "cyclic:block";
  CHECK(addresses(parse(all_by_launcher, {}, environment)) ==
        "0@rack1-n09:7400, 1@rack1-n10:7400, 2@fat:7400, 3@rack1-n09:7401, 4@rack1-n10:7401");
}

TEST_CASE("all that Slurm has started together compare equal") {
  const ConfigDigest first = parse(all_by_launcher, {}, slurm("0", "0", "0")).digest();
  CHECK(first == parse(all_by_launcher, {}, slurm("4", "2", "0")).digest());
  const std::string written =
      "[SPINDRIFT]\nfabric = ofi:tcp\nmembers = 0, 1, 2, 3, 4\naddresses = n<id>:1\nnetwork_trusted = true\n"
      "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  CHECK(first == parse(written).digest());
}

TEST_CASE("an order of Slurm's that is not known is noticed by the own place, and refused") {
  // Task 3 would be the second one of the second node.
  check_refused(slurm("3", "2", "0"), "test.cfg:4", "not placed its tasks in blocks or in turn");
}

TEST_CASE("Open MPI and PMI say who a process is, and where all are if they are on one host") {
  const Config::Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                                      {"OMPI_COMM_WORLD_SIZE", "2"},
                                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                      {"SLURM_PROCID", "0"},
                                      {"SLURM_NTASKS", "9"}};
  const Config one = parse(all_by_launcher, {}, mpirun);
  CHECK(one.local_id() == NodeId(1));
  CHECK(addresses(one) == "0@127.0.0.1:7400, 1@127.0.0.1:7401");
  const Config::Environment mpiexec = {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALNRANKS", "3"}};
  const Config other = parse(all_by_launcher, {}, mpiexec);
  CHECK(other.local_id() == NodeId(2));
  CHECK(other.view().value().members == ids({0, 1, 2}));

  Config::Environment apart = mpiexec;
  apart["MPI_LOCALNRANKS"] = "1";
  check_refused(apart, "test.cfg:4", "PMI does not tell a process where the others run");
}

TEST_CASE("a file's values that wait for a launcher are found in the process's environment") {
  const std::string path = (std::filesystem::temp_directory_path() / ("launched-" + std::to_string(::getpid()))).string();
  std::ofstream(path) << all_by_launcher;
  REQUIRE(::setenv("OMPI_COMM_WORLD_RANK", "3", 1) == 0);
  REQUIRE(::setenv("OMPI_COMM_WORLD_SIZE", "4", 1) == 0);
  REQUIRE(::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1) == 0);
  const auto config = Config::read(path);
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}) ::unsetenv(name);
  std::filesystem::remove(path);
  REQUIRE(config);
  CHECK(config->local_rank().value() == Rank(3));
}

TEST_CASE("of a launcher within a job of Slurm's, the launcher is believed, unless it is Slurm that speaks its language") {
  Config::Environment environment = slurm("0", "0", "0");
  environment["PMI_RANK"] = "1";
  environment["PMI_SIZE"] = "2";
  environment["MPI_LOCALNRANKS"] = "2";
  CHECK(parse(all_by_launcher, {}, environment).local_id() == NodeId(1));
  environment["PMI_RANK"] = "0";
  environment["PMI_SIZE"] = "5";
  CHECK(config::find_launch(environment).value().launcher == "Slurm");
}

TEST_CASE("values that wait for a launcher are refused without one, and by a stronger value not asked for") {
  check_problems(Config::check_text(all_by_launcher, "test.cfg"),
                 {{"test.cfg:3", "no launcher has started this process", "srun"},
                  {"test.cfg:4", "no launcher has started this process", "srun"},
                  {"test.cfg:7", "no launcher has started this process", "srun"}});
  const std::vector<ConfigOverride> flags = {
      {"SPINDRIFT/members", "0, 1"}, {"SPINDRIFT/addresses", "host-<id>:1"}, {"DERECHO/local_id", "1"}};
  CHECK(parse(all_by_launcher, flags).local_id() == NodeId(1));
}

TEST_CASE("a launcher's numbers that make no sense are refused") {
  const auto refused = [](const char* rank, const char* processes) {
    const auto found = config::find_launch({{"PMI_RANK", rank}, {"PMI_SIZE", processes}});
    return !found && found.error().message() == "PMI says that this process is number \"" + std::string(rank) + "\" of \"" +
                                                    std::string(processes) + "\"";
  };
  CHECK(refused("2", "2"));
  CHECK(refused("-1", "2"));
  CHECK(refused("0", ""));
  CHECK(refused("0", "1025"));
}

TEST_CASE("a port is needed, and there must be enough") {
  const Config::Environment mpirun = {
      {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const auto problems = [&](const std::string& value) {
    return Config::check_text("[SPINDRIFT]\naddresses = " + value + "\n", "test.cfg", {}, mpirun);
  };
  check_problems(problems("launcher"), {{"test.cfg:2", "names no port", "launcher:7400"}});
  check_problems(problems("launcher:0"), {{"test.cfg:2", "names no port", "launcher:7400"}});
  check_problems(problems("launcher:65535"), {{"test.cfg:2", "not enough ports", "smaller"}});
  check_problems(problems("launcherx:7"), {{"test.cfg:2", "names no node", "write id@host:port"}});
}

TEST_CASE("lists of hosts are those that Slurm writes, and no others") {
  const auto hosts = [](const char* list) { return config::expand_hosts(list).value(); };
  CHECK(hosts("a") == std::vector<std::string>{"a"});
  CHECK(hosts("n[8-10,12]-ib,x") == std::vector<std::string>{"n8-ib", "n9-ib", "n10-ib", "n12-ib", "x"});
  CHECK(hosts("r[1-2]n[01-02]") == std::vector<std::string>{"r1n01", "r1n02", "r2n01", "r2n02"});
  for (const char* list :
       {"", "n[", "n[]", "n[2-1]", "n[1-x]", "n[1-4294967295]", "n]", "a,,b", "r[1-999]n[1-999]", "a b"}) {
    INFO(list);
    CHECK_FALSE(config::expand_hosts(list));
  }
}
