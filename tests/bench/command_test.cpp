// `spindrift bench` as a user runs it: the output of each subcommand parses, and says what was asked for.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "../skip.hpp"

namespace {

struct Output {
  int exit_code = -1;
  std::vector<nlohmann::json> lines;
};

Output run(const std::string& command) {
  Output output;
  std::FILE* pipe = ::popen((command + " --json - 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int byte = 0; (byte = std::fgetc(pipe)) != EOF;) {
    if (byte != '\n') {
      text += static_cast<char>(byte);
      continue;
    }
    output.lines.push_back(nlohmann::json::parse(text));
    text.clear();
  }
  output.exit_code = WEXITSTATUS(::pclose(pipe));
  return output;
}

Output bench(const std::string& arguments, const std::string& environment = {}) {
  return run(environment + SPINDRIFT_COMMAND " bench " + arguments);
}
Output papers(const std::string& arguments) { return run(SPINDRIFT_PAPERS " " + arguments); }

}  // namespace

TEST_CASE("bench multicast prints one line per cell of the matrix") {
  const Output output = bench("multicast --members 2,3 --size 64,128 --senders one,all --no-touch --messages 60 --repeat 2");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 8);
  for (const auto& line : output.lines) {
    CHECK(line["bench"] == "multicast throughput");
    CHECK(line["unit"] == "messages/s");
    CHECK(line["repeats"] == 2);
    CHECK(line["parameters"]["touched"] == false);
    CHECK(line["parameters"]["messages"] == 60);
    CHECK(line["median"].get<double>() > 0);
    CHECK(line["limit_median"].get<double>() > 0);
    CHECK(line["ratio"].get<double>() > 0);
  }
  CHECK(output.lines[0]["parameters"]["senders"] == 1);
  CHECK(output.lines[7]["parameters"]["senders"] == 3);
}

TEST_CASE("bench latency prints three percentiles") {
  const Output output = bench("latency --members 2 --messages 20 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3);
  CHECK(output.lines[0]["parameters"]["percentile"] == "p50");
  CHECK(output.lines[2]["parameters"]["percentile"] == "p99.9");
  for (const auto& line : output.lines) CHECK(line["unit"] == "ns");
}

TEST_CASE("bench latency measures from sleep, too, beside wake-ups from sleep") {
  const Output output = bench("latency --rest 1 --members 2 --messages 10 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3);
  for (const auto& line : output.lines) {
    CHECK(line["parameters"]["rest_ms"] == 1);
    if (line["machine"]["cpus"] > 1) CHECK(line["limit_median"] > 0);
  }
}

TEST_CASE("bench latency over a fabric between hosts is beside the round trip over TCP, spinning or from sleep") {
  const std::string rest = GENERATE("", " --rest 1");
  const Output output = bench("latency --fabric tcp --members 2 --messages 10 --repeat 1" + rest);
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3);
  for (const auto& line : output.lines) CHECK(line["limit_median"] > 0);
}

TEST_CASE("bench idle prints the CPU and memory of member processes") {
  const Output output = bench("idle --members 2 --seconds 0.01");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3);
  CHECK(output.lines[0]["unit"] == "cores");
  CHECK(output.lines[0]["median"].get<double>() >= 0);
  CHECK(output.lines[1]["median"].get<double>() >= output.lines[2]["median"].get<double>());
}

TEST_CASE("bench start prints the seconds until all members are in the view") {
  const Output output = bench("start --members 3 --repeat 2");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 1);
  CHECK(output.lines[0]["repeats"] == 2);
  CHECK(output.lines[0]["min"].get<double>() > 0);
}

TEST_CASE("bench start and idle have a second group take turns, and say which") {
  const auto [arguments, lines] = GENERATE(
      table<std::string, std::size_t>({{"start --members 2 --repeat 2", 1}, {"idle --members 2 --seconds 0.01", 3}}));
  const Output output = bench(arguments + " --fabric tcp --security none --beside shm");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == lines);
  for (const auto& line : output.lines) {
    CHECK(line["limit_median"].is_number());
    CHECK(line["parameters"]["fabric"] == "tcp");
    CHECK(line["parameters"]["security"] == "none");
    CHECK(line["parameters"]["beside"] == "shm");
  }
}

TEST_CASE("bench limits prints the machine's, the send ring's and the bare multicast's") {
  const Output output = bench("limits --members 2 --size 64 --threads 1,2 --seconds 0.01 --repeat 1");
  if (std::thread::hardware_concurrency() < 2) return spindrift::test::skip("this machine has one CPU");
  CHECK(output.exit_code == 0);
  CHECK(output.lines.size() == 3 + 2 + 4);
}

TEST_CASE(
    "bench wire prints each group beside TCP, its fabric, one stream and the others, and a sealed one beside what sealing "
    "leaves") {
  const Output output =
      bench("wire --members 2 --size 1024 --seconds 0.02 --repeat 1 --fabric tcp,ofi:tcp --security tls,none");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3 * (3 + 2) + 2);
  std::size_t sealed = 0;
  for (const auto& line : output.lines) {
    if (line["bench"] == "sealing alone") continue;
    CHECK(line["limit_median"] > 0);
    sealed += line["parameters"]["beside"] == "TCP and sealing";
  }
  CHECK(sealed == 1);
  CHECK(output.lines.back()["bench"] == "sealing alone");
}

TEST_CASE("bench journal prints what is durable beside plain files, and leaves nothing behind") {
  const auto directory = std::filesystem::temp_directory_path() / ("bench-journal-" + std::to_string(::getpid()));
  REQUIRE(std::filesystem::create_directory(directory));
  const Output output = bench("journal --processes 1,2 --size 100 --commits 10 --seconds 0.1 --repeat 1 --directory " +
                              directory.string());
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 2 * 2);
  for (const auto& line : output.lines) {
    CHECK(line["median"] > 0);
    CHECK(line["limit_median"] > 0);
  }
  CHECK(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

TEST_CASE("bench journal says which directory it cannot use") {
  const Output output = bench("journal --processes 1 --size 100 --directory /nowhere/at/all");
  CHECK(output.exit_code == 7);
}

TEST_CASE("bench durable prints times, rates and what is beside them, each beside its reference") {
  const auto directory = std::filesystem::temp_directory_path() / ("bench-durable-command-" + std::to_string(::getpid()));
  REQUIRE(std::filesystem::create_directory(directory));
  const Output output =
      bench("durable --members 1,2 --size 100 --messages 10 --seconds 0.1 --repeat 1 --directory " + directory.string());
  CHECK(output.exit_code == 0);
  // Times of one sender, and of all where there are several, beside files and rounds of files; then five rates.
  REQUIRE(output.lines.size() == 2 + 4 + 5 + 5);
  for (const auto& line : output.lines) {
    CHECK(line["median"] > 0);
    CHECK(line["limit_median"] > 0);
  }
  CHECK(output.lines[0]["parameters"]["batch_messages"] == 1);
  CHECK(output.lines[0]["parameters"]["batch_bytes"] == 4096);
  CHECK(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

TEST_CASE("bench dds prints rates, trips, qualities and what types cost, and says who is not there to stand beside them") {
  const std::string small = " --readers 1,2 --size 100 --trips 20 --seconds 0.3 --repeat 1 --directory " +
                            std::filesystem::temp_directory_path().string();
  const auto [prefix, more, beside] = GENERATE(table<std::string, std::string, std::string>(
      {{"", " --alone", "nobody"}, {"PATH=/nowhere ", "", "ddsperf is not installed; apt install cyclonedds-tools"}}));
  const Output output = bench("dds" + small + more, prefix);
  CHECK(output.exit_code == 0);
  // With listeners on two threads rates in samples and in bytes of two numbers of readers, and two percentiles; then four
  // qualities, and four ways.
  REQUIRE(output.lines.size() == 2 * (2 * 2 + 2) + 4 + 4);
  for (const auto& line : output.lines) {
    CHECK(line["median"] > 0);
    const bool compared = line["bench"] == "topic qualities" || line["bench"] == "typed beside untyped";
    CHECK(line["limit_median"].is_null() != compared);
    if (!compared) CHECK(line["parameters"]["beside"] == beside);
  }
  CHECK(bench("dds --size 77").exit_code == 2);
}

TEST_CASE("bench state prints what messages and calls wait while a state is saved and given away") {
  const auto directory = std::filesystem::temp_directory_path() / ("bench-state-command-" + std::to_string(::getpid()));
  REQUIRE(std::filesystem::create_directory(directory));
  const Output output = bench("state --members 2 --mib 8 --seconds 0.2 --repeat 1 --directory " + directory.string());
  CHECK(output.exit_code == 0);
  // Three percentiles of messages and of calls, and how long it took; of a checkpoint, and of a newcomer.
  REQUIRE(output.lines.size() == 2 * (3 + 3 + 1));
  for (const auto& line : output.lines) {
    CHECK(line["median"] > 0);
    CHECK(line["parameters"]["MiB"] == 8);
    CHECK(line["limit_median"].is_null() == (line["bench"] == "large state on its way"));
  }
  CHECK(output.lines.front()["parameters"]["while"] == "a checkpoint is made");
  CHECK(output.lines.back()["parameters"]["while"] == "a newcomer is given it");
  CHECK(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

TEST_CASE("bench durable says which directory it cannot use") {
  const Output output = bench("durable --members 1 --size 100 --directory /nowhere/at/all");
  CHECK(output.exit_code == 7);
}

TEST_CASE("bench subgroups prints the sum, and of busy ones each one's share beside an equal one") {
  const Output output = bench("subgroups --subgroups 1,3 --size 64 --seconds 0.05 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3 + 3);
  double percent = 0;
  for (const auto& line : output.lines) {
    CHECK(line["limit_median"].is_number());
    if (line["bench"] == "share of a busy subgroup") percent += line["median"].get<double>();
  }
  CHECK(percent == Approx(100));
}

TEST_CASE("bench observers prints the senders' rate beside that without observers, who account for all messages") {
  const Output output = bench("observers --observers 4 --size 64 --seconds 0.05 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 1 + 2 * 2);
  for (const auto& line : output.lines) {
    if (line["unit"] == "messages/s") CHECK(line["limit_median"] > 0);
    if (line["unit"] == "percent") CHECK((line["median"] > 0 && line["median"] <= 100));
  }
}

TEST_CASE("the papers' comparisons print each figure beside the run that it is compared with") {
  const std::string small = " --size 64 --seconds 0.01 --repeat 1";
  const auto [arguments, lines] = GENERATE(table<std::string, std::size_t>(
      {{"delay --members 2", 6}, {"upcall --members 2 --window 5", 20}, {"threads --threads 1,2", 4}}));
  const Output output = papers(arguments + small);
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == lines);
  for (const auto& line : output.lines) {
    CHECK(line["unit"] == "messages/s");
    CHECK(line["limit_median"].is_number());
  }
}

TEST_CASE("an object is reported with its rate beside a bare ring's, and its members' memory") {
  const Output output = papers("object --mib 4 --members 2 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 2);
  CHECK(output.lines[0]["limit_median"] > 0);
  CHECK(output.lines[1]["unit"] == "MiB");
}

TEST_CASE("bench connect prints two percentiles of nine times, and four more figures, per number of peers, and two rates") {
  const Output output = bench("connect --peers 1,3 --samples 3 --repeat 2");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 2 * (9 * 2 + 4) + 2);
  for (const auto& line : output.lines) {
    CHECK(line["repeats"] == 2);
    CHECK(line["min"].get<double>() > 0);
    if (line["bench"] == "reads of the meta server for a lookup") CHECK(line["min"].get<double>() >= 2);
  }
}

TEST_CASE("bench rpc prints latencies and rates of calls, each beside what carries them") {
  const Output output = bench("rpc --batch 3 --seconds 0.02 --repeat 2");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 4 + 2 * 2);
  for (const auto& line : output.lines) {
    CHECK(line["repeats"] == 2);
    CHECK(line["min"].get<double>() > 0);
    CHECK(line["limit_median"].is_null() == (line["parameters"]["beside"] == "nothing"));
  }
  CHECK(bench("rpc --batch 0").exit_code != 0);
  CHECK(bench("rpc --batch 65").exit_code != 0);
}

TEST_CASE("bench clients prints what each kind of call takes beside a plain one, durable ones beside files, and rates") {
  const Output output = bench("clients --members 2 --size 16,64 --calls 20 --seconds 0.05 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 2 * (4 + 2 + 2 + 2));
  for (const auto& line : output.lines) {
    CHECK(line["parameters"]["members"] == 2);
    CHECK(line["min"].get<double>() > 0);
    const bool alone = line["unit"] == "calls/s" || line["parameters"]["beside"] == "nothing";
    CHECK(line["limit_median"].is_null() == alone);
  }
  CHECK(bench("clients --members 17").exit_code != 0);
  CHECK(bench("clients --calls 9").exit_code != 0);
}

TEST_CASE("what peers take in memory is printed, by connections and written to as far as it is told to") {
  const Output output = papers("memory --repeat 1 --provider net --peers 3,2 --connections 2 --written 0");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == (2 + 4 * 4) * 2 + 4);
  for (const auto& line : output.lines) {
    CHECK(line["unit"] == "bytes");
    CHECK(line["parameters"]["peers"].get<int>() >= 2);
  }
  CHECK(output.lines.back()["parameters"]["held"] == "connected queue pair");
  CHECK(output.lines.back()["parameters"]["peers"] == 2);
  CHECK(papers("memory --peers 1").exit_code != 0);
  CHECK(bench("connect --peers 9").exit_code != 0);
}

TEST_CASE("meshes, lookups and batches are printed with their provider") {
  const auto [arguments, lines, unit] =
      GENERATE(table<std::string, std::size_t, std::string>({{"mesh --most 2", 4 * 2, "us"},
                                                             {"lookups --most 2 --samples 5", 2 * 3, "lookups/s"},
                                                             {"pool --samples 5", 5 * 2, "us"}}));
  const Output output = papers(arguments + " --provider net --repeat 2");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == lines);
  CHECK(output.lines[0]["unit"] == unit);
  for (const auto& line : output.lines) {
    CHECK(line["repeats"] == 2);
    CHECK(line["min"].get<double>() > 0);
    CHECK(line["parameters"]["provider"] == "net");
  }
}

TEST_CASE("bench viewchange prints three percentiles of each gap, of one group or of two") {
  const std::string beside = GENERATE("", " --fabric tcp --beside shm");
  const Output output = bench("viewchange --members 3 --rounds 1 --state 0" + beside);
  CHECK(output.exit_code == 0);
  CHECK(output.lines.size() == 2 * 3 * 3);
}

TEST_CASE("bench roster prints three percentiles of three times of each change, and what was sent, delivered and compared") {
  const Output output = bench("roster --members 2 --most 3 --rounds 1 --size 64 --seconds 0.001 --security none");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 2 * (3 * 2 * 3 + 3));
  for (const auto& line : output.lines) {
    const bool beside = line["bench"] == "deliveries stand still around a change";
    CHECK(line["min"].get<double>() > 0);
    CHECK(line["limit_median"].is_number() == beside);
  }
  CHECK(output.lines[0]["parameters"]["fabric"] == "shm");
  CHECK(output.lines[0]["parameters"]["change"] == "add");
  CHECK(output.lines.back()["parameters"]["fabric"] == "tcp, security none");
  CHECK(output.lines.back()["unit"] == "views");
  CHECK(bench("roster --members 3 --most 3").exit_code == 2);
}

TEST_CASE("bench roster fails where members deliver different sequences, as in an unordered subgroup, and says so") {
  const std::string layout = R"('LAYOUT/json_layout=[{"name": "bench", "mode": "unordered"}]')";
  const Output output = bench("roster --members 2 --most 3 --rounds 1 --fabric shm --seconds 0.001 --set " + layout);
  CHECK(output.exit_code == 1);
  CHECK(output.lines.empty());
}

TEST_CASE("what part of each kind of view change was connecting is printed") {
  const Output output = papers("share --members 3 --rounds 1 --fabric vq:net");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 3 * 10 + 11);
  for (const auto& line : output.lines) {
    const bool newcomer = line["parameters"]["change"] == "newcomer";
    CHECK(line["parameters"]["fabric"] == "vq:net");
    CHECK(line["parameters"]["samples"] == (newcomer || line["parameters"]["change"] != "join" ? 2 : 4));
    CHECK(line["repeats"] == line["parameters"]["samples"]);
    CHECK(line["min"].get<double>() >= 0);
  }
}

TEST_CASE("batching is printed with rates, means, the whole of the upcalls, and where the time goes") {
  const Output output = papers("batching --members 2 --windows 5 --size 64 --seconds 0.01 --repeat 1");
  CHECK(output.exit_code == 0);
  REQUIRE(output.lines.size() == 7 * 4 + 10 + 7);
  double percent = 0;
  for (const auto& line : output.lines) {
    if (line["unit"] == "percent") percent += line["median"].get<double>();
  }
  CHECK(percent == Approx(100));
}

TEST_CASE("a bench whose reader has gone ends quietly, whatever it prints") {
  for (const char* const form : {"", " --json -"}) {
    const std::string bench = std::string(SPINDRIFT_COMMAND " bench roster --members 2 --most 3 --fabric shm") + form;
    std::FILE* pipe = ::popen(("exec 4>&1; { " + bench + " 2>&4; echo code $? >&4; } | true").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string said;
    for (int byte = 0; (byte = std::fgetc(pipe)) != EOF;) said += static_cast<char>(byte);
    ::pclose(pipe);
    CHECK(said == "code 0\n");
  }
}

TEST_CASE("bench hands the user's settings to all members, and refuses wrong ones") {
  CHECK(bench("multicast --members 2 --size 8 --messages 10 --repeat 1 --set SPINDRIFT/spin_us=0").exit_code == 0);
  CHECK(bench("multicast --members 2 --messages 10 --set SPINDRIFT/no_such_key=1").exit_code != 0);
  CHECK(bench("multicast --members 2 --messages 10 --set nonsense").exit_code != 0);
  CHECK(bench("idle --seconds 0.01 --set SPINDRIFT/no_such_key=1").exit_code != 0);
  for (const char* const own : {"DERECHO/local_id=1", "SPINDRIFT/group_name=x", "SPINDRIFT/runtime_directory=/tmp"})
    CHECK(bench("roster --members 2 --most 3 --set " + std::string(own)).exit_code == 2);
}

TEST_CASE("the model prints points and the paper's numbers beside its own") {
  const Output output = papers("model --quick --figure 1,12");
  CHECK(output.exit_code == 0);
  std::size_t claims = 0;
  std::size_t marks = 0;
  for (const auto& line : output.lines) {
    CHECK(line["bench"].get<std::string>().starts_with("model, figure 1"));
    CHECK(line["median"].get<double>() > 0);
    claims += line["parameters"].contains("claim");
    marks += line["parameters"].value("series", "") == "in the paper";
    if (line["parameters"].contains("claim")) CHECK(line["limit_median"].get<double>() > 0);
  }
  CHECK(claims == 5);
  CHECK(marks == 4);
  // Figure 1 has nine sizes, figure 12 three systems and two sizes.
  CHECK(output.lines.size() == claims + marks + 9 + 3 * 2);
  CHECK(papers("model --figure nonsense").exit_code != 0);
}
