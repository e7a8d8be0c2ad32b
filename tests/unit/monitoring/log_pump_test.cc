#include "monitoring/log/log_pump.h"

#include <chrono>
#include <map>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "monitoring/log/logging.h"
#include "monitoring/monitor.h"

namespace volvox {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongEnough = 60s;

// A pipe, which the test reads, or does not.
class LogPumpTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  void TearDown() override {
    start_logging(LogFormat::kText, LogLevel::kInfo);  // nobody logs to the pipe any more
    for (const int fd : ends_) ::close(fd);
  }
  void fill() const {
    const int flags = ::fcntl(ends_[1], F_GETFL);
    ::fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
    const std::string page(4096, '.');
    while (::write(ends_[1], page.data(), page.size()) > 0) {
    }
    ::fcntl(ends_[1], F_SETFL, flags);
  }
  // Until `end` was read.
  std::string read_until(const std::string& end) const {
    std::string text;
    for (char buffer[512]; text.find(end) == std::string::npos;) {
      const ssize_t got = ::read(ends_[0], buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  static std::string gap(std::uint64_t missing) { return std::to_string(missing) + " missing\n"; }
  int out() const { return ends_[1]; }

  int ends_[2] = {-1, -1};
};

TEST_F(LogPumpTest, WritesLinesInOrder) {
  LogPump pump(out(), 100, gap);
  for (const char* line : {"one\n", "two\n", "three\n"}) pump.push(line);
  EXPECT_TRUE(pump.flush(kLongEnough));
  EXPECT_EQ(read_until("three\n"), "one\ntwo\nthree\n");
  EXPECT_EQ(pump.dropped(), 0U);
}

TEST_F(LogPumpTest, WhoLogsNeverWaitsAndTheOldestLinesGo) {
  fill();
  LogPump pump(out(), 10, gap);
  for (int i = 0; i < 1000; ++i) pump.push(std::to_string(i) + "\n");
  EXPECT_FALSE(pump.flush(10ms));
  EXPECT_GE(pump.dropped(), 989U);
  const std::string text = read_until("999\n");
  EXPECT_NE(text.find(" missing\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n990\n991\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n500\n"), std::string::npos) << text;
}

TEST_F(LogPumpTest, ItsEndWaitsForNobody) {
  fill();
  const auto before = std::chrono::steady_clock::now();
  {
    LogPump pump(out(), 10, gap);
    pump.push("nobody reads this\n");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
}

TEST_F(LogPumpTest, AReaderThatIsGoneIsNoTrouble) {
  ::close(std::exchange(ends_[0], -1));
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  {
    LogPump pump(out(), 10, gap);
    for (int i = 0; i < 100; ++i) pump.push("for nobody\n");
    EXPECT_TRUE(pump.flush(kLongEnough));
  }
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_F(LogPumpTest, LongLinesArriveWhole) {
  LogPump pump(out(), 10, gap);
  const std::string line(100'000, 'x');
  pump.push(line + "\n");
  EXPECT_EQ(read_until("\n"), line + "\n");
}

TEST_F(LogPumpTest, TheLogCountsWhatItLost) {
  fill();
  const std::uint64_t before = log_lines_dropped();
  start_logging(LogFormat::kText, LogLevel::kInfo, 10, out());
  for (int i = 0; i < 100; ++i) spdlog::info("line {}", i);
  EXPECT_GE(log_lines_dropped() - before, 89U);
  const Monitor monitor("test");
  EXPECT_EQ(monitor.metrics_page().body.find("volvox_log_lines_dropped_total 0\n"), std::string::npos);
  const std::string text = read_until("line 99\n");
  EXPECT_NE(text.find("[warning]"), std::string::npos);
  EXPECT_NE(text.find("lines of the log are missing"), std::string::npos);
  start_logging(LogFormat::kText, LogLevel::kInfo);
}

void log_about_requests() {
  log_about({8}, LogLevel::kInfo, "one");
  log_about({7, TraceId{0x0af7651916cd43dd, 0x8448eb211c80319c}}, LogLevel::kWarning, "one of a trace");
  log_about({7}, LogLevel::kDebug, "more than is wanted");
  log_about({}, LogLevel::kInfo, "nothing is known");
  spdlog::info("of none");
}

TEST_F(LogPumpTest, LinesAboutARequestSayWhich) {
  start_logging(LogFormat::kJson, LogLevel::kInfo, 100, out());
  log_about_requests();
  std::istringstream text(read_until("of none\"}\n"));
  std::map<std::string, nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) {
    const auto read = nlohmann::json::parse(line);
    lines[read.at("message")] = read;
  }
  EXPECT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines.at("one").at("request"), 8);
  EXPECT_FALSE(lines.at("one").contains("trace_id"));
  EXPECT_EQ(lines.at("one of a trace").at("level"), "warning");
  EXPECT_EQ(lines.at("one of a trace").at("request"), 7);
  EXPECT_EQ(lines.at("one of a trace").at("trace_id"), "0af7651916cd43dd8448eb211c80319c");
  for (const char* other : {"nothing is known", "of none"}) {
    EXPECT_FALSE(lines.at(other).contains("request")) << other;
    EXPECT_FALSE(lines.at(other).contains("trace_id")) << other;
  }
}

TEST_F(LogPumpTest, LinesOfTextEndWithTheirRequest) {
  start_logging(LogFormat::kText, LogLevel::kInfo, 100, out());
  log_about_requests();
  const std::string text = read_until("of none\n");
  for (const char* line : {"] one request=8\n", "] nothing is known\n",
                           "] one of a trace request=7 trace_id=0af7651916cd43dd8448eb211c80319c\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("more than"), std::string::npos) << text;
}

}  // namespace
}  // namespace volvox
