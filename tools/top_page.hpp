// The page of `spindrift top`: what its keys do, and the text that a terminal of some size shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "top_rows.hpp"

namespace spindrift::tools {

enum class TopColumn : std::uint8_t { name, sent, delivered, bytes, behind };

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
};

/// The choices of its user, key by key.
class TopPage {
 public:
  /// Nothing else is understood: q, s, digits, Enter.
  void on_key(char key);
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// At most so many lines of at most so many columns, the last one with its end, too.
  [[nodiscard]] std::string text(const std::string& group, const GroupLook& before, const GroupLook& now, TerminalSize size);

 private:
  [[nodiscard]] std::vector<TopRow> chosen_rows(const GroupLook& before, const GroupLook& now);
  [[nodiscard]] std::string header(const std::string& group, const GroupLook& now) const;

  TopColumn sorted_by_ = TopColumn::name;
  std::optional<NodeId> shown_;  ///< the node whose subgroups are shown; none: all nodes
  std::optional<NodeId> first_;  ///< of the nodes as they were shown last
  std::string typed_;            ///< digits of the node
  bool ended_ = false;
};

/// In four or five characters: "0", "999", "1.50k", "12.3M".
[[nodiscard]] std::string short_number(double value);
/// In up to six characters: "64us", "1.0ms", "4.2s"; of the greatest number ">4.2s", for no bucket has a higher bound.
[[nodiscard]] std::string short_time(std::uint64_t us);

}  // namespace spindrift::tools
