// A bench hands over one figure per line, as JSON for programs or as a table for people, always with its spread over
// the repeats and, where there is one, the limit of the same machine measured in the same run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spindrift::bench {

struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Over at least one value. The median of an even number of values is the mean of the two in the middle.
[[nodiscard]] Summary summarize(std::vector<double> values);

/// The value at or below which `fraction` (0 … 1) of the values lie; of at least one value. Reorders them.
[[nodiscard]] double percentile(std::span<std::uint64_t> values, double fraction);

using Parameter = std::variant<std::uint64_t, double, bool, std::string>;
using Parameters = std::vector<std::pair<std::string, Parameter>>;  ///< in the order to print

/// One measured quantity.
struct Figure {
  std::string bench;  ///< "multicast throughput"
  Parameters parameters;
  std::string unit;              ///< "messages/s"
  std::vector<double> values{};  ///< one per repeat; at least one
  std::vector<double> limits{};  ///< the same quantity of the limit, one per repeat; or empty

  /// Median by median of the limit: above 1 is better for a rate, below 1 for a time. Nothing without a limit, or if it is
  /// 0.
  [[nodiscard]] std::optional<double> ratio() const;
};

/// The machine and the build that figures belong to.
struct Provenance {
  std::uint64_t cpus = 0;  ///< that this process may use
  std::string model;
  std::string kernel;
  std::string release;  ///< of Spindrift
  std::string commit;   ///< with "+changes" if the tree had any; "unknown" outside of a repository
};
[[nodiscard]] Provenance provenance();

/// One line, without its end: {bench, machine, version, commit, parameters, median, min, max, repeats, unit, limit_median,
/// ratio}; the last two are null where there is none.
[[nodiscard]] std::string to_json(const Figure& figure, const Provenance& provenance);

/// Prints figures as they come. Not thread-safe.
class FigureReport {
 public:
  /// `json` empty: a table on standard output. "-": JSON lines there instead. Otherwise both: the table there, the lines in
  /// the file of that name, replaced. Throws Exception: resource.
  explicit FigureReport(const std::string& json);
  ~FigureReport();
  FigureReport(const FigureReport&) = delete;
  FigureReport& operator=(const FigureReport&) = delete;

  void add(const Figure& figure);

 private:
  void print_row(const Figure& figure);

  const Provenance provenance_ = provenance();
  const bool table_;
  std::FILE* json_ = nullptr;
  std::string bench_in_table_;
  std::vector<std::size_t> column_widths_;  ///< of its parameters; all figures of a bench have the same
};

/// One figure for the median and one for the 99th percentile of times in nanoseconds, in microseconds.
template <class Times>
void report_percentiles(FigureReport& report, const char* bench, const Parameters& parameters,
                        std::vector<std::uint64_t> Times::*which, std::vector<Times>& repeats) {
  for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
    Figure figure{bench, parameters, "us"};
    figure.parameters.emplace_back("percentile", std::string(name));
    for (Times& times : repeats) figure.values.push_back(percentile(times.*which, fraction) / 1000);
    report.add(figure);
  }
}

/// One figure each for p50, p99 and the maximum of at least one time in milliseconds, beside the same percentile of the
/// limits, if there are any.
void report_times(FigureReport& report, const char* bench, Parameters parameters, std::vector<double> values_ms,
                  std::vector<double> limits_ms);

}  // namespace spindrift::bench
