#include "loadgen/sweep/chart.h"

#include <algorithm>
#include <cmath>

#include "loadgen/report/format.h"

namespace volvox {
namespace {

constexpr double kWidth = 760, kHeight = 380, kLeft = 70, kRight = 20, kTop = 36, kBottom = 50;
constexpr std::size_t kColours = 6;
constexpr int kTicks = 5;

// From values to pixels.
class Axis {
 public:
  Axis(bool log, double from_px, double to_px) : log_(log), from_px_(from_px), to_px_(to_px) {}

  bool shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
  void include(double value) {
    if (!shows(value)) return;
    low_ = some_ ? std::min(low_, value) : value;
    high_ = some_ ? std::max(high_, value) : value;
    some_ = true;
  }
  // To round ends, and never of no length.
  void settle() {
    if (!some_) low_ = log_ ? 1 : 0, high_ = log_ ? 10 : 1;
    if (log_) {
      low_ = std::pow(10, std::floor(std::log10(low_)));
      high_ = std::pow(10, std::ceil(std::log10(high_) - 1e-9));
    } else {
      low_ = std::min(low_, 0.0);
      const double step = step_of(high_ - low_);
      high_ = std::ceil(high_ / step) * step;
    }
    if (!(high_ > low_)) high_ = low_ + 1;
  }
  double at(double value) const {
    const double part =
        log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return from_px_ + part * (to_px_ - from_px_);
  }
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (log_) {
      for (double tick = low_; tick <= high_ * 1.001; tick *= 10) ticks.push_back(tick);
    } else {
      const double step = step_of(high_ - low_);
      for (double tick = low_; tick <= high_ + step / 2; tick += step) ticks.push_back(tick);
    }
    return ticks;
  }

 private:
  static double step_of(double length) {
    const double rough = std::max(length, 1e-12) / kTicks;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= rough) return factor * power;
    }
    return 10 * power;
  }

  bool log_, some_ = false;
  double from_px_, to_px_, low_ = 0, high_ = 1;
};

std::string axes(const Chart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : x.ticks()) {
    svg += formatted(R"(<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>)", x.at(tick),
                     x.at(tick), kTop, kHeight - kBottom);
    svg += formatted(R"(<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%g</text>)", x.at(tick),
                     kHeight - kBottom + 20, tick);
  }
  for (const double tick : y.ticks()) {
    svg += formatted(R"(<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>)", kLeft,
                     kWidth - kRight, y.at(tick), y.at(tick));
    svg += formatted(R"(<text class="axis" x="%.1f" y="%.1f" text-anchor="end">%g</text>)", kLeft - 6,
                     y.at(tick) + 4, tick);
  }
  svg += formatted(R"(<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text>)",
                   (kLeft + kWidth - kRight) / 2, kHeight - 10, escaped(chart.x_name).c_str());
  svg += formatted(
      R"svg(<text class="axis" x="16" y="%.1f" text-anchor="middle" transform="rotate(-90 16 %.1f)">%s</text>)svg",
      kHeight / 2, kHeight / 2, escaped(chart.y_name).c_str());
  return svg;
}

std::string drawn(const ChartLine& line, std::size_t number, const Axis& x, const Axis& y) {
  std::string points, marks;
  const std::size_t colour = number % kColours;
  for (const auto& [at_x, at_y] : line.points) {
    if (!x.shows(at_x) || !y.shows(at_y)) continue;
    points += formatted("%.1f,%.1f ", x.at(at_x), y.at(at_y));
    if (line.marks)
      marks +=
          formatted(R"(<circle class="c%zu" cx="%.1f" cy="%.1f" r="3"/>)", colour, x.at(at_x), y.at(at_y));
  }
  const double legend = kLeft + 12 + 110 * static_cast<double>(number);
  return formatted(R"(<polyline class="c%zu" points=")", colour) + points + "\"/>" + marks +
         formatted(R"(<text class="c%zu name" x="%.1f" y="%.1f">%s</text>)", colour, legend, kTop - 10,
                   escaped(line.name).c_str());
}

}  // namespace

std::string to_svg(const Chart& chart) {
  Axis x(chart.x_log, kLeft, kWidth - kRight), y(chart.y_log, kHeight - kBottom, kTop);
  for (const ChartLine& line : chart.lines) {
    for (const auto& [at_x, at_y] : line.points) {
      x.include(at_x);
      y.include(at_y);
    }
  }
  if (chart.y_limit > 0) y.include(chart.y_limit);
  x.settle();
  y.settle();
  std::string svg = formatted(R"(<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">)", kWidth, kHeight,
                              escaped(chart.title).c_str());
  svg += axes(chart, x, y);
  if (chart.y_limit > 0) {
    svg += formatted(R"(<line class="limit" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>)", kLeft,
                     kWidth - kRight, y.at(chart.y_limit), y.at(chart.y_limit));
    svg += formatted(R"(<text class="axis" x="%.1f" y="%.1f" text-anchor="end">%s</text>)", kWidth - kRight,
                     y.at(chart.y_limit) - 5, escaped(chart.y_limit_name).c_str());
  }
  for (std::size_t i = 0; i < chart.lines.size(); ++i) svg += drawn(chart.lines[i], i, x, y);
  return svg + "</svg>";
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace volvox
