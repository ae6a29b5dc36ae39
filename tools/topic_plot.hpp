// `spindrift topic plot`: a numeric field of a topic over time.
#pragma once

#include <string>

#include "topic_session.hpp"

namespace spindrift::tools {

struct PlotOptions : TopicOptions {
  std::string field;
  std::string file;      ///< a recording; empty: what comes
  double window_s = 10;  ///< of what comes the last so long is drawn
};

int plot_field(const PlotOptions& options);

}  // namespace spindrift::tools
