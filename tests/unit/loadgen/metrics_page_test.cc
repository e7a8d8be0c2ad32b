#include "loadgen/server/metrics_page.h"

#include <cmath>

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr const char* kPage = R"(# HELP requests_total Requests by outcome
# TYPE requests_total counter
requests_total{outcome="ok",model="a"} 12
requests_total{outcome="ok",model="b"} 3
requests_total{outcome="OVERLOADED",model="b"} 1 1700000000000

up 1
wait_bucket{le="+Inf"} 7
ratio NaN
odd{text="a \"b\" \\ c, d} \n",} 1.5e-3
)";

TEST(MetricsPage, ReadsSamplesAndLabels) {
  const auto page = MetricsPage::parse(kPage);
  ASSERT_TRUE(page.has_value()) << page.error().message;
  EXPECT_EQ(page->samples().size(), 7U);
  EXPECT_EQ(page->sum("requests_total"), 16.0);
  EXPECT_EQ(page->sum("up"), 1.0);
  EXPECT_FALSE(page->sum("down").has_value());
  const auto by_outcome = page->sum_by("requests_total", "outcome");
  EXPECT_EQ(by_outcome.at("ok"), 15.0);
  EXPECT_EQ(by_outcome.at("OVERLOADED"), 1.0);
  EXPECT_EQ(page->all("wait_bucket").front()->label("le"), "+Inf");
  EXPECT_TRUE(std::isnan(page->sum("ratio").value()));
  EXPECT_EQ(page->all("odd").front()->label("text"), "a \"b\" \\ c, d} \n");
  EXPECT_EQ(page->all("odd").front()->value, 1.5e-3);
  EXPECT_EQ(page->all("odd").front()->label("none"), "");
}

TEST(MetricsPage, NamesTheLineThatIsWrong) {
  for (const char* bad : {"name", "name x", "name{a=\"b\" 1", "name{a=b} 1", "{a=\"b\"} 1", "name{a=\"b} 1",
                          "name{=\"b\"} 1", "name 1x"}) {
    const auto page = MetricsPage::parse("up 1\n" + std::string(bad) + "\n");
    ASSERT_FALSE(page.has_value()) << bad;
    EXPECT_NE(page.error().message.find("line 2"), std::string::npos);
  }
}

TEST(MetricsPage, AnEmptyPageIsAPage) {
  EXPECT_TRUE(MetricsPage::parse("").has_value());
  EXPECT_TRUE(MetricsPage::parse("\n\n# nothing\n").has_value());
}

}  // namespace
}  // namespace volvox
