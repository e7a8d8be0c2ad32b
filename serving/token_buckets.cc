#include "serving/token_buckets.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace volvox {
namespace {

constexpr Duration kLeastBetweenSweeps = std::chrono::seconds(1);

}  // namespace

double TokenBuckets::tokens_in(const Bucket& bucket, TimePoint now) const {
  if (now <= bucket.filled) return bucket.tokens;
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  return std::min(limits_.burst, bucket.tokens + seconds * limits_.per_second);
}

TokenBuckets::Bucket& TokenBuckets::bucket_of(std::string_view client, TimePoint now) {
  const auto known = buckets_.find(client);
  if (known != buckets_.end()) return known->second;
  if (buckets_.size() >= limits_.clients && (!shared_used_ || now - swept_ >= kLeastBetweenSweeps)) {
    swept_ = now;
    std::erase_if(buckets_, [&](const auto& entry) { return tokens_in(entry.second, now) >= limits_.burst; });
  }
  if (buckets_.size() < limits_.clients)
    return buckets_.emplace(std::string(client), Bucket{limits_.burst, now}).first->second;
  if (!std::exchange(shared_used_, true)) shared_ = {limits_.burst, now};
  return shared_;
}

bool TokenBuckets::take(std::string_view client, TimePoint now) {
  Bucket& bucket = bucket_of(client, now);
  bucket = {tokens_in(bucket, now), std::max(bucket.filled, now)};
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace volvox
