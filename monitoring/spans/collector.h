#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"

namespace volvox {

// What came of one try to hand spans to a collector.
struct SendResult {
  enum class Kind : std::uint8_t {
    kTaken,
    kRefused,   // it will never take them
    kTryAgain,  // it could not be reached, or asks for patience
  };
  Kind kind = Kind::kTaken;
  std::uint64_t refused_spans = 0;  // with kTaken: of them, those that it did not like
  Duration wait{};                  // with kTryAgain: so long, says the collector; 0: it does not say
  std::string why{};                // unless all is well
};

// OpenTelemetry's protocol over HTTP (OTLP 1.3, "OTLP/HTTP"): a POST of JSON for each message, over one
// connection that is kept. It goes straight to the URL: no proxy, and no redirection is followed. One thread.
class Collector {
 public:
  // `timeout`: of one message.
  Collector(std::string url, Duration timeout);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Waits for the answer. Once `give_up` is true, for kFarewell at most.
  SendResult send(const std::string& body, const std::atomic<bool>& give_up);

  static constexpr Duration kFarewell = std::chrono::seconds(1);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace volvox
