#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/option.h"
#include "cli/top/top_screen.h"
#include "cli/top/top_view.h"
#include "loadgen/run/interrupt.h"
#include "loadgen/server/http_get.h"

namespace volvox {
namespace {

constexpr std::size_t kMostProcesses = 64;
constexpr auto kPatienceWithOne =
    std::chrono::seconds(1);  // with a process; one that hangs delays the others so long
constexpr auto kLookForSignals = std::chrono::milliseconds(50);
constexpr TopSize kPlain{100, 0};

struct TopArguments {
  std::vector<std::string> urls{"http://127.0.0.1:7101"};
  double interval_s = 1;
  std::size_t rounds = 0;
};

std::string name_of(const std::string& url) {
  const std::string base = http_base(url);
  return base.substr(base.find("//") + 2);
}

// All processes, asked again and again, at once each time.
class TopWatch {
 public:
  explicit TopWatch(const std::vector<std::string>& urls) {
    for (const std::string& url : urls) watched_.push_back({url, {}});
    for (std::size_t i = 0; i < urls.size(); ++i) sights_.emplace_back().name = name_of(urls[i]);
  }

  void look() {
    std::vector<std::future<Result<ServerStatus>>> answers;
    for (const Watched& one : watched_)
      answers.push_back(std::async(std::launch::async,
                                   [&url = one.url] { return read_server_status(url, kPatienceWithOne); }));
    for (std::size_t i = 0; i < answers.size(); ++i) take(sights_[i], watched_[i], answers[i].get());
  }
  const std::vector<TopSight>& sights() const { return sights_; }

 private:
  struct Watched {
    std::string url;
    TimePoint seen{};
  };

  static void take(TopSight& sight, Watched& watched, Result<ServerStatus> answer) {
    const TimePoint now = steady_now();
    sight.before = std::exchange(sight.now, std::nullopt);
    if (answer) {
      sight.now = std::move(*answer);
    } else {
      sight.trouble = answer.error().message;
    }
    sight.seconds = std::chrono::duration<double>(now - std::exchange(watched.seen, now)).count();
  }

  std::vector<Watched> watched_;
  std::vector<TopSight> sights_;
};

std::string clock_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[16]{};
  std::strftime(text, sizeof(text), "%H:%M:%S", &local);
  return text;
}

// False: nobody reads any more.
bool print(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  std::printf("\n");
  return std::fflush(stdout) == 0;
}

class Top {
 public:
  explicit Top(const TopArguments& arguments)
      : arguments_(arguments), watch_(arguments.urls), screen_(TopScreen::open()) {}

  void run() {
    for (std::size_t round = 1; !over(); ++round) {
      watch_.look();
      const TimePoint next = steady_now() + std::chrono::duration_cast<Duration>(
                                                std::chrono::duration<double>(arguments_.interval_s));
      if (!show() || round == arguments_.rounds || !wait(next)) return;
    }
  }

 private:
  bool over() const { return interrupt_.token().stop_requested(); }

  bool show() {
    if (!screen_) return print(top_lines(watch_.sights(), clock_time(), kPlain));
    screen_->show(top_lines(watch_.sights(), clock_time(), screen_->size()));
    return true;
  }

  // False: it is to end.
  bool wait(TimePoint until) {
    while (!over() && steady_now() < until) {
      const Duration left = std::min<Duration>(until - steady_now(), kLookForSignals);
      if (!screen_) {
        std::this_thread::sleep_for(left);
        continue;
      }
      const TopScreen::Wish wish = screen_->wait(left);
      if (wish == TopScreen::Wish::kLeave) return false;
      if (wish == TopScreen::Wish::kDrawAnew) show();
    }
    return true;
  }

  const TopArguments arguments_;
  const InterruptWatch interrupt_;
  TopWatch watch_;
  const std::unique_ptr<TopScreen> screen_;
};

}  // namespace

void add_top_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<TopArguments>();
  CLI::App* command = app.add_subcommand(
      "top",
      "Shows what servers, or the processes of a cluster, are doing, again and again, until q or Ctrl-C");
  add_option(*command, "url URL", arguments->urls, "Where the monitoring of each answers")
      ->expected(1, static_cast<int>(kMostProcesses));
  add_option(*command, "--interval SECONDS", arguments->interval_s, "Between two looks")
      ->check(CLI::Range(0.1, 3600.0));
  add_option(*command, "--rounds COUNT", arguments->rounds, "End after so many looks; 0: never");
  command->callback([arguments, &run] {
    run = [arguments] {
      std::signal(SIGPIPE, SIG_IGN);  // whoever reads may go: that is the end, not a failure
      Top(*arguments).run();
      return 0;
    };
  });
}

}  // namespace volvox
