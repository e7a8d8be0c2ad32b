#pragma once

#include <functional>
#include <string>

namespace volvox {

// What a server tells the process that it runs in, which alone decides how the process ends. Called on any
// thread; must not block. Either may be empty.
struct ProcessHooks {
  std::function<void()> opens;                              // clients may come from now on
  std::function<void(const std::string& why)> asks_to_end;  // a router wants this node to drain and go
};

}  // namespace volvox
