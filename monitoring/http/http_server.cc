#include "monitoring/http/http_server.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace volvox {
namespace {

constexpr Duration kPatience = std::chrono::seconds(5);  // with one connection, from its beginning to its end

HttpAnswer turned_away(const HttpRefused& refused) {
  HttpAnswer answer{refused.status, refused.error.message + "\n"};
  if (refused.reason == HttpRefusal::kToken) answer.headers = "WWW-Authenticate: Bearer\r\n";
  return answer;
}

class PageDesk {
 public:
  PageDesk(HttpRuleSettings rules, HttpServer::Pages pages, std::function<void(HttpRefusal)> refused)
      : rules_(std::move(rules)), pages_(std::move(pages)), refused_(std::move(refused)) {}

  DoorReply operator()(const HttpHead& head) const {
    DoorReply reply;
    const auto page = pages_.find(std::string(head.path));
    const bool for_all = page != pages_.end() && page->second.for_all;
    auto refused = rules_.check_sender(head.headers);
    if (!refused && !for_all) refused = rules_.check_token(head.headers);
    if (refused) {
      if (refused_) refused_(refused->reason);
      reply.answer = turned_away(*refused);
    } else if (head.method != "GET" && head.method != "HEAD") {
      reply.answer = {405, "only GET and HEAD\n"};
      reply.answer.headers = "Allow: GET, HEAD\r\n";
    } else if (page == pages_.end()) {
      reply.answer = {404, "no such page\n"};
    } else {
      reply.page = page->second.make;
      reply.page_name = page->first;
    }
    return reply;
  }

 private:
  const HttpRules rules_;
  const HttpServer::Pages pages_;
  const std::function<void(HttpRefusal)> refused_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(Setup setup, Pages pages) {
  const auto desk = std::make_shared<const PageDesk>(std::move(setup.rules), std::move(pages),
                                                     std::move(setup.turned_away));
  DoorSetup door;
  door.address = setup.address;
  door.purpose = setup.purpose;
  door.limits = {setup.connections, 0, kPatience};
  door.io_timeout = kPatience;
  door.reply = [desk](const HttpHead& head, const std::string&) { return (*desk)(head); };
  door.cut = std::move(setup.cut);
  door.refused = std::move(setup.refused);
  auto opened = HttpDoor::open(std::move(door));
  if (!opened) return tl::unexpected(opened.error());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(*opened)));
}

}  // namespace volvox
