// Figures as JSON lines and as a table. A line carries everything that is needed to judge it later, away from its run.
#include <spindrift/bench/report.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/utsname.h>

#include <spindrift/core/result.hpp>

#include "commit.hpp"

namespace spindrift::bench {

namespace {

std::string processor_model() {
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

/// Four significant digits, with a suffix for thousands and more: people compare columns, programs read the JSON.
std::string short_number(double value) {
  for (const auto& [scale, suffix] : {std::pair{1e9, " G"}, {1e6, " M"}, {1e3, " k"}}) {
    if (value >= scale) return fmt::format("{:.4g}{}", value / scale, suffix);
  }
  return fmt::format("{:.4g}", value);
}

std::string to_text(const Parameter& parameter) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, parameter);
}

/// The value at or below which `fraction` of the sorted values lie.
double at_fraction(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1) + 0.5)];
}

/// Wide enough for the parameter's name and its value in the first row; texts have room for longer ones.
std::size_t column_width(const std::pair<std::string, Parameter>& parameter) {
  const std::size_t width = std::max<std::size_t>(10, parameter.first.size() + 2);
  const std::size_t text = to_text(parameter.second).size() + 2;
  return text <= width ? width : (text + 23) / 24 * 24;
}

}  // namespace

Summary summarize(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

double percentile(std::span<std::uint64_t> values, double fraction) {
  CHECK(!values.empty() && fraction >= 0 && fraction <= 1);
  const auto position = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + position, values.end());
  return static_cast<double>(values[static_cast<std::size_t>(position)]);
}

std::optional<double> Figure::ratio() const {
  const double limit = limits.empty() ? 0 : summarize(limits).median;
  if (limit == 0) return std::nullopt;
  return summarize(values).median / limit;
}

Provenance provenance() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  utsname names{};
  const bool named = ::uname(&names) == 0;
  return {known ? static_cast<std::uint64_t>(CPU_COUNT(&allowed)) : 0, processor_model(), named ? names.release : "unknown",
          SPINDRIFT_VERSION, SPINDRIFT_COMMIT};
}

std::string to_json(const Figure& figure, const Provenance& provenance) {
  constexpr int version = 1;  // of the line: docs/schemas/bench.json
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const auto& [name, parameter] : figure.parameters) {
    std::visit([&, &key = name](const auto& value) { parameters[key] = value; }, parameter);
  }
  const Summary summary = summarize(figure.values);
  nlohmann::ordered_json line{
      {"version", version},
      {"bench", figure.bench},
      {"machine", {{"cpus", provenance.cpus}, {"model", provenance.model}, {"kernel", provenance.kernel}}},
      {"release", provenance.release},
      {"commit", provenance.commit},
      {"parameters", std::move(parameters)},
      {"median", summary.median},
      {"min", summary.min},
      {"max", summary.max},
      {"repeats", figure.values.size()},
      {"unit", figure.unit},
      {"limit_median", nullptr},
      {"ratio", nullptr}};
  if (!figure.limits.empty()) line["limit_median"] = summarize(figure.limits).median;
  if (const auto ratio = figure.ratio()) line["ratio"] = *ratio;
  return line.dump();
}

FigureReport::FigureReport(const std::string& json) : table_(json != "-") {
  if (json == "-") json_ = stdout;
  if (!json.empty() && json != "-") {
    json_ = std::fopen(json.c_str(), "we");
    if (!json_) throw Exception(system_error("open " + json, errno));
  }
}

FigureReport::~FigureReport() {
  if (json_ && json_ != stdout) std::fclose(json_);
}

void FigureReport::add(const Figure& figure) {
  if (table_) print_row(figure);
  if (json_) fmt::print(json_, "{}\n", to_json(figure, provenance_));
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "write to standard output");
  if (json_ && std::fflush(json_) != 0) throw Exception(system_error("write what --json names", errno));
}

void FigureReport::print_row(const Figure& figure) {
  if (figure.bench != bench_in_table_) {
    bench_in_table_ = figure.bench;
    fmt::print("\n{}\n", figure.bench);
    column_widths_.clear();
    for (const auto& parameter : figure.parameters) {
      column_widths_.push_back(column_width(parameter));
      fmt::print("{:>{}}", parameter.first, column_widths_.back());
    }
    fmt::print("{:>12}{:>12}{:>12}  {:<12}{:>10}{:>9}\n", "median", "min", "max", "unit", "limit", "ratio");
  }
  for (std::size_t column = 0; column < figure.parameters.size(); ++column)
    fmt::print("{:>{}}", to_text(figure.parameters[column].second), column_widths_[column]);
  const Summary summary = summarize(figure.values);
  fmt::print("{:>12}{:>12}{:>12}  {:<12}", short_number(summary.median), short_number(summary.min),
             short_number(summary.max), figure.unit);
  const auto ratio = figure.ratio();
  fmt::print("{:>10}{:>9}\n", figure.limits.empty() ? "" : short_number(summarize(figure.limits).median),
             ratio ? fmt::format("{:.3f}", *ratio) : "");
}

void report_times(FigureReport& report, const char* bench, Parameters parameters, std::vector<double> values_ms,
                  std::vector<double> limits_ms) {
  std::sort(values_ms.begin(), values_ms.end());
  std::sort(limits_ms.begin(), limits_ms.end());
  parameters.emplace_back("samples", std::uint64_t{values_ms.size()});
  for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"max", 1.0}}) {
    Figure figure{bench, parameters, "ms", {at_fraction(values_ms, fraction)}, {}};
    figure.parameters.emplace_back("percentile", std::string(name));
    if (!limits_ms.empty()) figure.limits = {at_fraction(limits_ms, fraction)};
    report.add(figure);
  }
}

}  // namespace spindrift::bench
