#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/time.h"
#include "cli/top/top_view.h"

struct screen;  // of ncurses

namespace volvox {

// The terminal, taken over with ncursesw until this ends: lines that are shown in place of those before. One
// thread.
class TopScreen {
 public:
  // Null where standard output is no terminal, or none that ncurses knows how to use.
  static std::unique_ptr<TopScreen> open();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  TopSize size() const;
  void show(std::span<const std::string> lines);

  enum class Wish { kNone, kDrawAnew, kLeave };
  // What the one before the terminal does next: resizes it, or presses q. Waits for so long at most.
  Wish wait(Duration at_most);

 private:
  explicit TopScreen(screen* of) : screen_(of) {}

  screen* const screen_;  // what ncurses keeps of it
};

}  // namespace volvox
