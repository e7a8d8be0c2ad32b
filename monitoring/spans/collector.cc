#include "monitoring/spans/collector.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr std::size_t kMostAnswer = 64U << 10;
constexpr std::size_t kMostWhy = 200;  // of what the collector says, in our log
constexpr auto kLongestPause = std::chrono::seconds(30);

// "OTLP/HTTP Response", "Retryable Response Codes".
bool is_passing(long status) {
  constexpr std::array kCodes{429L, 502L, 503L, 504L};
  return std::find(kCodes.begin(), kCodes.end(), status) != kCodes.end();
}

std::string printable(std::string text) {
  text.resize(std::min(text.size(), kMostWhy));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

// An ExportTraceServiceResponse: {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "…"}} or less.
SendResult taken(const std::string& answer) {
  SendResult result;
  const json said = json::parse(answer, nullptr, false);
  const auto partial = said.is_object() ? said.find("partialSuccess") : said.end();
  if (!said.is_object() || partial == said.end() || !partial->is_object()) return result;
  if (const auto count = partial->find("rejectedSpans"); count != partial->end()) {
    if (count->is_number_unsigned()) result.refused_spans = count->get<std::uint64_t>();
    if (count->is_string())
      result.refused_spans = std::strtoull(count->get<std::string>().c_str(), nullptr, 10);
  }
  if (const auto message = partial->find("errorMessage"); message != partial->end() && message->is_string())
    result.why = printable(message->get<std::string>());
  return result;
}

}  // namespace

class Collector::Connection {
 public:
  Connection(std::string url, Duration timeout) : url_(std::move(url)) {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
    handle_ = global == CURLE_OK ? curl_easy_init() : nullptr;
    headers_ = curl_slist_append(nullptr, "Content-Type: application/json");
    // Else curl asks first whether it may send a large body, and waits for a second.
    headers_ = curl_slist_append(headers_, "Expect:");
    if (handle_ != nullptr) set_up(timeout);
  }
  ~Connection() {
    curl_easy_cleanup(handle_);
    curl_slist_free_all(headers_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  SendResult post(const std::string& body, const std::atomic<bool>& give_up) {
    if (handle_ == nullptr)
      return {SendResult::Kind::kTryAgain, 0, Duration::zero(), "the HTTP client cannot be set up"};
    answer_.clear();
    give_up_ = &give_up;
    last_call_ = {};
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    const CURLcode code = curl_easy_perform(handle_);
    if (code != CURLE_OK) return {SendResult::Kind::kTryAgain, 0, Duration::zero(), curl_easy_strerror(code)};
    return result();
  }

 private:
  void set_up(Duration timeout) {
    curl_easy_setopt(handle_, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(handle_, CURLOPT_USERAGENT, "volvox");
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count()));
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &Connection::take);
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, &Connection::look);
    curl_easy_setopt(handle_, CURLOPT_XFERINFODATA, this);
  }

  // As curl hands over what has come. An answer that never ends is none.
  static std::size_t take(const char* data, std::size_t size, std::size_t count, void* self) {
    std::string& answer = static_cast<Connection*>(self)->answer_;
    if (answer.size() + size * count > kMostAnswer) return 0;
    answer.append(data, size * count);
    return size * count;
  }

  // As curl calls it about once a second. Not 0: enough of it.
  static int look(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& me = *static_cast<Connection*>(self);
    if (!me.give_up_->load(std::memory_order_relaxed)) return 0;
    if (!me.last_call_) me.last_call_ = steady_now();
    return steady_now() - *me.last_call_ >= kFarewell ? 1 : 0;
  }

  SendResult result() const {
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return taken(answer_);
    SendResult result;
    result.kind = is_passing(status) ? SendResult::Kind::kTryAgain : SendResult::Kind::kRefused;
    result.why = "HTTP " + std::to_string(status) + " " + printable(answer_);
    curl_off_t pause = 0;
    curl_easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &pause);
    result.wait = std::clamp<Duration>(std::chrono::seconds(std::min<curl_off_t>(pause, 3600)),
                                       Duration::zero(), kLongestPause);
    return result;
  }

  const std::string url_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::string answer_;
  const std::atomic<bool>* give_up_ = nullptr;
  std::optional<TimePoint> last_call_;  // when it was seen that there is no time left
};

Collector::Collector(std::string url, Duration timeout)
    : connection_(std::make_unique<Connection>(std::move(url), timeout)) {}
Collector::~Collector() = default;

SendResult Collector::send(const std::string& body, const std::atomic<bool>& give_up) {
  return connection_->post(body, give_up);
}

}  // namespace volvox
