#include "cli/top/top_screen.h"

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <thread>

#define NCURSES_NOMACROS  // `timeout` and others are words of ours, too
#include <ncurses.h>
#include <unistd.h>

#include "base/clock.h"

namespace volvox {

std::unique_ptr<TopScreen> TopScreen::open() {
  if (isatty(STDOUT_FILENO) == 0) return nullptr;
  std::setlocale(LC_CTYPE, "");
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return nullptr;
  ::cbreak();
  ::noecho();
  ::curs_set(0);
  ::keypad(stdscr, TRUE);
  return std::unique_ptr<TopScreen>(new TopScreen(screen));
}

TopScreen::~TopScreen() {
  ::endwin();
  ::delscreen(screen_);
}

TopSize TopScreen::size() const {
  return {static_cast<std::size_t>(std::max(1, ::getmaxx(stdscr))),
          static_cast<std::size_t>(std::max(1, ::getmaxy(stdscr)))};
}

void TopScreen::show(std::span<const std::string> lines) {
  ::werase(stdscr);
  const auto rows = std::min(lines.size(), size().rows);
  for (std::size_t i = 0; i < rows; ++i)
    ::mvwaddnstr(stdscr, static_cast<int>(i), 0, lines[i].c_str(), ::getmaxx(stdscr));
  ::wrefresh(stdscr);
}

TopScreen::Wish TopScreen::wait(Duration at_most) {
  const TimePoint until = steady_now() + at_most;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(at_most, Duration::zero())).count();
  ::wtimeout(stdscr, static_cast<int>(ms));
  const int key = ::wgetch(stdscr);
  if (key == KEY_RESIZE) return Wish::kDrawAnew;
  // Nobody types: the input has ended, or the time is over.
  if (key == ERR) std::this_thread::sleep_until(until);
  return key == 'q' || key == 'Q' ? Wish::kLeave : Wish::kNone;
}

}  // namespace volvox
