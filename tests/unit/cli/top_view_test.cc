#include "cli/top/top_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

ServerStatus status(const std::string& page) {
  ServerStatus status;
  status.healthy = true;
  status.readiness = "ready";
  status.page = MetricsPage::parse(page).value();
  return status;
}

TopSight sight(const std::string& name, const std::string& before, const std::string& now,
               double seconds = 2) {
  TopSight sight;
  sight.name = name;
  sight.before = status(before);
  sight.now = status(now);
  sight.seconds = seconds;
  return sight;
}

std::string line_with(const std::vector<std::string>& lines, const std::string& words) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
  return found == lines.end() ? "" : *found;
}

TEST(TopFigures, AreOfTheTimeBetweenTwoLooks) {
  const TopSight one = sight("a", "x_total{of=\"a\"} 10\nx_total{of=\"b\"} 5\n",
                             "x_total{of=\"a\"} 30\nx_total{of=\"b\"} 6\n");
  EXPECT_EQ(top_rate(one, "x_total"), 10.5);
  EXPECT_EQ(top_rates(one, "x_total", "of").at("a"), 10);
  EXPECT_EQ(top_rates(one, "x_total", "of").at("b"), 0.5);
  const TopSight restarted = sight("a", "x_total 1000\n", "x_total 4\n");
  EXPECT_EQ(top_rate(restarted, "x_total"), 2);
  TopSight first = one;
  first.before.reset();
  EXPECT_EQ(top_rate(first, "x_total"), 0);
}

TEST(TopFigures, QuantilesAreOfAllProcessesTogether) {
  const auto page = [](int fast, int all, int forever) {
    return "t_bucket{le=\"0.1\"} " + std::to_string(fast) + "\nt_bucket{le=\"1\"} " + std::to_string(all) +
           "\nt_bucket{le=\"+Inf\"} " + std::to_string(forever) + "\n";
  };
  const TopSight fast = sight("a", page(100, 100, 100), page(160, 160, 160));
  const TopSight slow = sight("b", page(7, 7, 7), page(7, 47, 47));
  const std::vector<const TopSight*> both{&fast, &slow};
  EXPECT_THAT(top_quantile(both, "t", 0.3).value(), DoubleNear(0.05, 1e-9));
  EXPECT_THAT(top_quantile(both, "t", 0.8).value(), DoubleNear(0.55, 1e-9));
  const TopSight late = sight("c", page(0, 0, 0), page(0, 0, 5));
  const std::vector<const TopSight*> only{&late};
  EXPECT_EQ(top_quantile(only, "t", 0.5), 1.0) << "the longest that is known";
  const TopSight none = sight("d", page(9, 9, 9), page(9, 9, 9));
  const std::vector<const TopSight*> nothing{&none};
  EXPECT_FALSE(top_quantile(nothing, "t", 0.5));
}

// A router and its node, which counts the same requests once more.
std::vector<TopSight> cluster() {
  const std::string router = "volvox_requests_total{outcome=\"ok\"} ",
                    node = "volvox_model_requests_total{door=\"cluster\"} 1\n";
  const std::string rows = "volvox_batch_rows_sum{device=\"cpu\",model=\"m/1\",type=\"lstm\"} ";
  const std::string tasks = "volvox_batch_rows_count{device=\"cpu\",model=\"m/1\",type=\"lstm\"} ";
  return {
      sight("router:1", router + "100\n", router + "300\n"),
      sight("node:2", node + router + "100\n" + rows + "0\n" + tasks + "0\n",
            node + router + "300\n" + rows + "800\n" + tasks + "100\nvolvox_device_up{device=\"cpu\"} 1\n")};
}

TEST(TopView, CountsWhatClientsSawOnce) {
  const auto lines = top_lines(cluster(), "12:00:00", {80, 24});
  EXPECT_EQ(lines.at(0), "volvox top  12:00:00  2 of 2 processes answer");
  EXPECT_EQ(lines.at(1), "requests/s  ok 100.0");
  EXPECT_THAT(line_with(lines, "router:1"), HasSubstr(" 100.0 "));
  EXPECT_THAT(line_with(lines, "node:2"), HasSubstr(" 100.0 "));
  const std::string type = line_with(lines, "m/1 lstm");
  EXPECT_THAT(type, HasSubstr(" 400 "));
  EXPECT_THAT(type, HasSubstr(" 8.0 "));
}

TEST(TopView, AProcessThatIsGoneIsSilentAndTheOthersGoOn) {
  auto sights = cluster();
  sights.at(1).now.reset();
  sights.at(1).trouble = "nobody answers there, and the line that says so is longer than the screen";
  const auto lines = top_lines(sights, "12:00:00", {80, 24});
  EXPECT_THAT(lines.at(0), HasSubstr("1 of 2 processes answer"));
  EXPECT_THAT(line_with(lines, "node:2"), HasSubstr("silent  nobody answers there"));
  EXPECT_EQ(lines.at(1), "requests/s  ok 100.0");
  for (TopSight& one : sights) one.now.reset();
  EXPECT_EQ(top_lines(sights, "12:00:00", {80, 24}).at(1), "requests/s  not known yet");
}

TEST(TopView, KeepsToTheScreen) {
  std::vector<TopSight> many;
  std::string types;
  for (int i = 0; i < 40; ++i)
    types += "volvox_ready_nodes{device=\"cpu\",model=\"a_model_with_a_rather_long_name_" +
             std::to_string(i) + "/1\",type=\"decoder\"} 1\n";
  for (int i = 0; i < 40; ++i)
    many.push_back(sight("a-rather-long-name-of-a-machine.example.com:" + std::to_string(10000 + i), "",
                         types + "volvox_device_up{device=\"cuda:0\"} 1\n"));
  for (const std::size_t columns : {1U, 20U, 60U, 80U, 200U}) {
    for (const std::size_t rows : {1U, 3U, 5U, 10U, 24U, 60U}) {
      const auto lines = top_lines(many, "12:00:00", {columns, rows});
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns);
    }
  }
  const auto lines = top_lines(many, "12:00:00", {80, 24});
  EXPECT_THAT(lines, SizeIs(24));
  for (const char* heading : {"PROCESS", "DEVICE", "CELL TYPE"})
    EXPECT_THAT(lines, Contains(StartsWith(heading)));
  EXPECT_THAT(lines, Contains(HasSubstr("more")));
  EXPECT_THAT(line_with(lines, ":10000"), StartsWith("~")) << "of a long name the end is shown";
  EXPECT_THAT(top_lines(many, "12:00:00", {80, 0}), SizeIs(3 + 42 + 42 + 42));
}

// Whoever serves the page must not write to the terminal of whoever looks at it.
TEST(TopView, ShowsNothingThatATerminalObeys) {
  const std::vector<TopSight> sights{
      sight("evil:1", "", "volvox_device_up{device=\"\033[2Jcpu\t\303\244\"} 1\n")};
  for (const std::string& line : top_lines(sights, "12:00:00", {80, 24}))
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_THAT(top_lines(sights, "12:00:00", {80, 24}), Contains(HasSubstr("?[2Jcpu???")));
}

}  // namespace
}  // namespace volvox
