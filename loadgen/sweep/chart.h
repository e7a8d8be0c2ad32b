#pragma once

#include <string>
#include <utility>
#include <vector>

namespace volvox {

// A line of a chart: points (x, y), in the order in which they are joined.
struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool marks = false;  // a dot at each point
};

struct Chart {
  std::string title, x_name, y_name;
  std::vector<ChartLine> lines;  // six at most have colours of their own
  bool x_log = false, y_log = false;
  double y_limit = 0;  // a dashed line across; 0: none
  std::string y_limit_name{};
};

// The chart as an <svg> element for a page of HTML whose style has classes c0 … c5, axis, grid and limit.
// Points that a logarithmic axis cannot show are left out.
std::string to_svg(const Chart& chart);

// Text for a page: what would be markup is not.
std::string escaped(const std::string& text);

}  // namespace volvox
