// One of the paper's figures while it is measured: points of series on panels, and what the paper says beside what came out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/bench/papers/model/experiment.hpp>
#include <spindrift/bench/report.hpp>

namespace spindrift::bench::model {

/// Axes and unit of the points that follow on it.
struct Panel {
  std::string title;   ///< behind the figure's own
  std::string x_name;  ///< "members"
  std::string unit;    ///< of the values
};

class Sheet {
 public:
  /// `report` outlives the sheet. A quick sheet has small groups and short runs: for tests.
  Sheet(FigureReport& report, std::string title, bool quick) : report_(report), title_(std::move(title)), quick_(quick) {}

  [[nodiscard]] bool quick() const noexcept { return quick_; }
  /// Numbers of members to go through, ending with the largest; `most` of them at most.
  [[nodiscard]] std::vector<std::uint32_t> sizes(std::uint32_t most = 16) const;
  [[nodiscard]] std::uint32_t largest() const { return sizes().back(); }
  /// The run with the median throughput of three that differ in their seeds, or of one where they are alike. If the sheet
  /// is quick, one and shortened.
  [[nodiscard]] Outcome run(Experiment experiment) const;

  /// Reported by `finish`, panel by panel.
  void point(const Panel& panel, const std::string& series, double x, double value);

  /// The place on a panel at which the paper's number is to be drawn.
  struct Place {
    const Panel& panel;
    double x;
  };
  /// Adds what the paper states in its prose, and the same quantity here. Reported by `finish`.
  void claim(const std::string& what, const std::string& unit, double paper, double here, std::optional<Place> place = {});
  /// After the last point.
  void finish();

 private:
  FigureReport& report_;
  std::string title_;
  bool quick_;
  std::vector<std::vector<Figure>> panels_;  ///< in the order of their first points
  std::vector<Figure> claims_;
};

/// Which members send, as the paper varies it.
struct Pattern {
  const char* name;
  std::uint32_t part;  ///< one of so many members sends; 0: one in all
  [[nodiscard]] std::uint32_t senders(std::uint32_t members) const noexcept {
    return part == 0 ? 1 : std::max(1u, members / part);
  }
};
inline constexpr Pattern patterns[] = {{"all senders", 1}, {"half senders", 2}, {"one sender", 0}};

/// A run of `members` with continuous senders; the rest is the paper's usual choice.
[[nodiscard]] Experiment continuous(const System& system, std::uint32_t members, std::uint32_t senders);

struct FigureEntry {
  const char* name;   ///< on the command line: "3", "rates"
  const char* title;  ///< "figure 3: one subgroup"
  void (*measure)(Sheet& sheet);
};
/// Spindle's in the paper's order, then what goes beyond it, then KRCore's.
[[nodiscard]] std::span<const FigureEntry> figures();

// One per file figures_<name>.cpp; `figures()` lists them.
[[nodiscard]] std::span<const FigureEntry> batching_figures();
[[nodiscard]] std::span<const FigureEntry> subgroup_figures();
[[nodiscard]] std::span<const FigureEntry> delay_figures();
[[nodiscard]] std::span<const FigureEntry> final_figures();
[[nodiscard]] std::span<const FigureEntry> beyond_figures();

}  // namespace spindrift::bench::model
