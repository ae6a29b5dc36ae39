// What a bench hands over: one figure per line, as JSON for programs or as a table for people, always with its spread over
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

#include <spindrift/core/result.hpp>

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

/// One measured quantity.
struct Figure {
  std::string bench;                                          ///< "multicast throughput"
  std::vector<std::pair<std::string, Parameter>> parameters;  ///< in the order to print
  std::string unit;                                           ///< "messages/s"
  std::vector<double> values;                                 ///< one per repeat; at least one
  std::vector<double> limits;                                 ///< the same quantity of the limit, one per repeat; or empty

  /// Median by median of the limit: above 1 is better for a rate, below 1 for a time. Nothing without a limit or with one of 0.
  [[nodiscard]] std::optional<double> ratio() const;
};

/// The machine and the build that figures belong to.
struct Provenance {
  std::uint64_t cpus = 0;  ///< that this process may use
  std::string model;
  std::string kernel;
  std::string version;  ///< of Spindrift
  std::string commit;   ///< with "+changes" if the tree had any; "unknown" outside of a repository
};
[[nodiscard]] Provenance provenance();

/// One line, without its end: {bench, machine, version, commit, parameters, median, min, max, repeats, unit, limit_median,
/// ratio}; the last two are null where there is none.
[[nodiscard]] std::string to_json(const Figure& figure, const Provenance& provenance);

/// Prints figures as they come. Not thread-safe.
class Report {
 public:
  /// `json` empty: a table on standard output. "-": JSON lines there instead. Otherwise both: the table there, the lines in
  /// the file of that name, replaced. Errors: resource.
  [[nodiscard]] static Result<Report> open(const std::string& json);

  Report(Report&& other) noexcept;
  Report& operator=(Report&&) = delete;
  ~Report();

  void add(const Figure& figure);

 private:
  Report() = default;
  void print_row(const Figure& figure);

  Provenance provenance_;
  bool table_ = true;
  std::FILE* json_ = nullptr;
  std::string bench_in_table_;
};

}  // namespace spindrift::bench
