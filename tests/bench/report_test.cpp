// Figures: their statistics, and lines that a program can read.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <spindrift/bench/report.hpp>

#include "failure.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::bench;

const Figure throughput{"multicast throughput",
                        {{"members", std::uint64_t{3}}, {"touched", true}, {"rate", 0.5}, {"kind", std::string("a \"b\"")}},
                        "messages/s",
                        {10, 30, 20},
                        {100, 80}};

}  // namespace

TEST_CASE("a summary of an odd number of values takes the one in the middle") {
  const Summary summary = summarize({5, 1, 3});
  CHECK(summary.median == 3);
  CHECK(summary.min == 1);
  CHECK(summary.max == 5);
}

TEST_CASE("a summary of an even number of values takes the mean of the two in the middle") {
  CHECK(summarize({4, 1, 2, 9}).median == 3);
  CHECK(summarize({7}).median == 7);
}

TEST_CASE("a percentile is the value below which that part of the values lies") {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 0; value <= 1000; ++value) values.push_back((value * 8) % 1001);
  CHECK(percentile(values, 0) == 0);
  CHECK(percentile(values, 0.5) == 500);
  CHECK(percentile(values, 0.99) == 990);
  CHECK(percentile(values, 0.999) == 999);
  CHECK(percentile(values, 1) == 1000);
}

TEST_CASE("a ratio compares medians, and needs a limit") {
  CHECK(throughput.ratio().value() == Approx(20.0 / 90.0));
  Figure alone = throughput;
  alone.limits.clear();
  CHECK_FALSE(alone.ratio());
}

TEST_CASE("nothing is a multiple of a limit of 0, which is told all the same") {
  Figure still = throughput;
  still.limits = {0, 0};
  CHECK_FALSE(still.ratio());
  const auto line = nlohmann::json::parse(to_json(still, provenance()));
  CHECK(line["limit_median"] == 0);
  CHECK(line["ratio"].is_null());
}

TEST_CASE("a line carries the figure, its parameters and where it comes from") {
  const auto line = nlohmann::json::parse(to_json(throughput, {2, "a model", "6.1", "0.1.0", "abc"}));
  CHECK(line["bench"] == "multicast throughput");
  CHECK(line["machine"] == nlohmann::json{{"cpus", 2}, {"model", "a model"}, {"kernel", "6.1"}});
  CHECK(line["version"] == 1);
  CHECK(line["release"] == "0.1.0");
  CHECK(line["commit"] == "abc");
  CHECK(line["parameters"] == nlohmann::json{{"members", 3}, {"touched", true}, {"rate", 0.5}, {"kind", "a \"b\""}});
  CHECK(line["median"] == 20);
  CHECK(line["min"] == 10);
  CHECK(line["max"] == 30);
  CHECK(line["repeats"] == 3);
  CHECK(line["unit"] == "messages/s");
  CHECK(line["limit_median"] == 90);
  CHECK(line["ratio"].get<double>() == Approx(20.0 / 90.0));
}

TEST_CASE("a line without a limit says so") {
  Figure alone = throughput;
  alone.limits.clear();
  const auto line = nlohmann::json::parse(to_json(alone, provenance()));
  CHECK(line["limit_median"].is_null());
  CHECK(line["ratio"].is_null());
}

TEST_CASE("the provenance names this machine and build") {
  const Provenance here = provenance();
  CHECK(here.cpus >= 1);
  CHECK_FALSE(here.model.empty());
  CHECK_FALSE(here.kernel.empty());
  CHECK_FALSE(here.release.empty());
  CHECK_FALSE(here.commit.empty());
}

TEST_CASE("a report writes one line per figure to its file") {
  const auto path = std::filesystem::temp_directory_path() / ("spindrift-report-" + std::to_string(::getpid()));
  {
    FigureReport report(path.string());
    report.add(throughput);
    report.add(throughput);
  }
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) CHECK(nlohmann::json::parse(line)["unit"] == "messages/s");
  CHECK(lines == 2);
  std::filesystem::remove(path);
}

TEST_CASE("a report that cannot be written is an error") {
  const Error error = error_of([] {
    const FigureReport report("/proc/spindrift/report");
    return 0;
  });
  CHECK(error.kind() == ErrorKind::resource);
  const Error full = error_of([] {
    FigureReport("/dev/full").add(throughput);
    return 0;
  });
  CHECK(full.kind() == ErrorKind::resource);
}
