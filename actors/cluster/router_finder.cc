#include "actors/cluster/router_finder.h"

#include <map>
#include <set>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/system/shell.h"

namespace volvox {
namespace {

class FinderShell {
 public:
  static constexpr const char* kName = "router finder";

  FinderShell(caf::event_based_actor* self, FinderSetup setup) : self_(self), setup_(std::move(setup)) {}

  caf::behavior behavior() {
    return {[this](FindAtom) { find(); }};
  }

 private:
  void find() {
    self_->delayed_send(self_, setup_.period, FindAtom::value);
    std::set<std::string> all;
    for (const std::string& router : setup_.routers) {
      const std::vector<std::string>& addresses = look_up(router);
      all.insert(addresses.begin(), addresses.end());
    }
    self_->send(setup_.owner, RoutersFound{{all.begin(), all.end()}});
  }

  const std::vector<std::string>& look_up(const std::string& router) {
    Known& known = known_[router];
    auto found = setup_.look_up(router);
    const std::string trouble = found ? "" : found.error().message;
    if (found) known.addresses = std::move(*found);
    if (!trouble.empty() && trouble != known.trouble)
      spdlog::warn("router {} is not found, trying on: {}", router, trouble);
    known.trouble = trouble;
    return known.addresses;
  }

  struct Known {
    std::vector<std::string> addresses;
    std::string trouble;  // that was told of last
  };

  caf::event_based_actor* self_;
  const FinderSetup setup_;
  std::map<std::string, Known> known_;
};

}  // namespace

caf::actor spawn_router_finder(caf::actor_system& system, FinderSetup setup) {
  return spawn_shell<FinderShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
