#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"

namespace volvox {

// What costs a client nothing to send, a ping or a cancel, must not cost the server without a bound. Each
// client has a bucket: `burst` tokens at first, one for each such message, and `per_second` more a second, up
// to `burst` again. Clients whose bucket is full are forgotten when there are many; where more than `clients`
// have sent lately, newcomers share one bucket. O(1), amortised. Pure; one thread at a time.
class TokenBuckets {
 public:
  struct Limits {
    double per_second = 1000;
    double burst = 5000;
    std::size_t clients = 16'384;
  };
  explicit TokenBuckets(const Limits& limits) : limits_(limits) {}

  // Takes a token; false: there is none.
  bool take(std::string_view client, TimePoint now);

  std::size_t clients() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    TimePoint filled{};
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  double tokens_in(const Bucket& bucket, TimePoint now) const;
  Bucket& bucket_of(std::string_view client, TimePoint now);

  const Limits limits_;
  std::unordered_map<std::string, Bucket, Hash, std::equal_to<>> buckets_;
  Bucket shared_;
  bool shared_used_ = false;
  TimePoint swept_{};
};

}  // namespace volvox
