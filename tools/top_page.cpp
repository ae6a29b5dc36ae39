// From rows to lines.
#include "top_page.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

#include "table.hpp"

namespace spindrift::tools {
namespace {

constexpr std::array column_names{"name", "sent", "delivered", "bytes", "behind"};

/// The greatest come first; what is not known is the least.
double rank_by(const TopRow& row, TopColumn column) {
  if (column == TopColumn::behind) return row.behind ? static_cast<double>(*row.behind) : -1;
  if (!row.rates) return -1;
  switch (column) {
    case TopColumn::sent: return row.rates->sent;
    case TopColumn::delivered: return row.rates->delivered;
    case TopColumn::bytes: return row.rates->bytes;
    case TopColumn::name:
    case TopColumn::behind: return 0;
  }
  return 0;
}

using Cells = std::vector<std::string>;

/// Cells that nodes and subgroups have in common.
void add_rates(Cells& cells, const TopRow& row) {
  for (const auto which : {&TopRates::sent, &TopRates::sent_bytes, &TopRates::delivered, &TopRates::bytes})
    cells.push_back(row.rates ? short_number((*row.rates).*which) : "-");
}

void add_end(Cells& cells, const TopRow& row) {
  cells.push_back(row.behind ? short_number(static_cast<double>(*row.behind)) : "-");
  cells.push_back(row.waits);
}

Cells cells_of_node(const TopRow& row) {
  Cells cells{std::to_string(row.node.value()), row.state, row.view ? std::to_string(row.view->value()) : "-"};
  add_rates(cells, row);
  add_end(cells, row);
  return cells;
}

/// Whether the subgroup is adequate is among what it waits for, and the view is its node's.
Cells cells_of_subgroup(const TopRow& row) {
  Cells cells{row.subgroup};
  add_rates(cells, row);
  cells.push_back(row.latency ? short_time(row.latency->p50) : "-");
  cells.push_back(row.latency ? short_time(row.latency->p99) : "-");
  add_end(cells, row);
  return cells;
}

std::string table_of(const std::vector<TopRow>& rows, bool of_nodes) {
  constexpr auto left = TextTable::Align::left, right = TextTable::Align::right;
  TextTable table(of_nodes ? std::vector{right, left, right, right, right, right, right, right, left}
                           : std::vector{left, right, right, right, right, right, right, right, left});
  if (of_nodes) {
    table.add({"node", "state", "view", "sent/s", "bytes/s", "delivered/s", "bytes/s", "behind", "waits"});
  } else {
    table.add({"subgroup", "sent/s", "bytes/s", "delivered/s", "bytes/s", "p50", "p99", "behind", "waits"});
  }
  for (const TopRow& row : rows) table.add(of_nodes ? cells_of_node(row) : cells_of_subgroup(row));
  return table.text({});
}

/// The line as far as it fits; the texts of status and counters files have one byte per column.
std::string cut(const std::string& line, std::size_t columns) { return line.substr(0, columns); }

std::string fitted(const std::string& text, TerminalSize size) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(cut(text.substr(start, end - start), size.columns));
    start = end + 1;
  }
  if (size.lines > 0 && lines.size() > size.lines) {
    const std::size_t missing = lines.size() - size.lines + 1;
    lines.resize(size.lines);
    lines.back() = cut(fmt::format("and {} more lines", missing), size.columns);
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace

std::string short_number(double value) {
  constexpr std::string_view units = " kMGTPE";
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value);
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, digits, units[unit]);
}

std::string short_time(std::uint64_t us) {
  if (us == ~std::uint64_t{0}) return ">4.2s";
  if (us < 1000) return fmt::format("{}us", us);
  if (us < 1'000'000) return fmt::format("{:.1f}ms", static_cast<double>(us) / 1e3);
  return fmt::format("{:.1f}s", static_cast<double>(us) / 1e6);
}

void TopPage::on_key(char key) {
  if (key == 'q') ended_ = true;
  if (key == 's') sorted_by_ = static_cast<TopColumn>((static_cast<std::size_t>(sorted_by_) + 1) % column_names.size());
  if (key == '\r' || key == '\n') {
    shown_ = shown_ ? std::nullopt : first_;
    typed_.clear();
  }
  if (key < '0' || key > '9') return;
  typed_ += key;
  std::uint32_t node = 0;
  const auto [end, error] = std::from_chars(typed_.data(), typed_.data() + typed_.size(), node);
  if (error != std::errc()) {  // more than a node id has: it begins anew
    typed_ = key;
    node = static_cast<std::uint32_t>(key - '0');
  }
  shown_ = NodeId(node);
}

std::vector<TopRow> TopPage::chosen_rows(const GroupLook& before, const GroupLook& now) {
  std::vector<TopRow> rows = shown_ ? subgroup_rows(before, now, *shown_) : node_rows(before, now);
  if (sorted_by_ != TopColumn::name) {
    std::stable_sort(rows.begin(), rows.end(), [this](const TopRow& a, const TopRow& b) {
      return rank_by(a, sorted_by_) > rank_by(b, sorted_by_);
    });
  }
  if (!shown_) first_ = rows.empty() ? std::nullopt : std::optional(rows.front().node);
  return rows;
}

std::string TopPage::header(const std::string& group, const GroupLook& now) const {
  const group::MemberStatus* const newest = now.report.newest();
  const std::string view =
      newest == nullptr ? "in no view yet" : fmt::format("view {} of {} members", *newest->view, newest->members.size());
  const std::string safety = now.report.partition_safety() ? "" : "  (NO PARTITION SAFETY)";
  const std::size_t nodes = now.report.nodes.size();
  const std::size_t unread = now.report.problems.size() + now.counters.problems.size();
  return fmt::format("group {}{}: {}, {} of this host{}{}\nkeys: q ends, s sorts (by {}), {}\n", group,
                     shown_ ? fmt::format(", node {}", *shown_) : "", view,
                     nodes == 1 ? "1 node" : fmt::format("{} nodes", nodes), safety,
                     unread == 0 ? "" : fmt::format(", {} UNREADABLE FILES", unread),
                     column_names[static_cast<std::size_t>(sorted_by_)],
                     shown_ ? "Enter goes back to all nodes" : "a node's number or Enter looks into it");
}

std::string TopPage::text(const std::string& group, const GroupLook& before, const GroupLook& now, TerminalSize size) {
  const std::vector<TopRow> rows = chosen_rows(before, now);
  const std::string none = shown_ && rows.empty() ? fmt::format("node {} is in no subgroup here\n", *shown_) : "";
  return fitted(header(group, now) + table_of(rows, !shown_) + none, size);
}

}  // namespace spindrift::tools
