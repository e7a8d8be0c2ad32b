#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "loadgen/lengths.h"
#include "loadgen/trees.h"
#include "protocol/request.h"

namespace volvox {

// What one request says.
struct RequestContent {
  std::vector<std::int32_t> tokens;   // a row for each step or node
  std::vector<std::int32_t> parents;  // of a tree's nodes; empty: a chain

  bool operator==(const RequestContent&) const = default;
};

// What requests say. Request `index` is a function of the seed and its index alone, so a sampled request need
// not be kept: the verification makes it again after the load. Immutable: any number of threads.
class RequestSource {
 public:
  // Of chains, or of trees. Token ids are drawn from [0, vocabulary), which must not be empty.
  RequestSource(std::uint64_t seed, std::variant<LengthSource, TreeSource> shapes, std::uint32_t vocabulary)
      : seed_(seed), vocabulary_(vocabulary), shapes_(std::move(shapes)) {}

  // Replaces `content` by that of request `index`.
  void make(std::uint64_t index, RequestContent& content) const;

  // For reports: what shapes requests have.
  std::string description() const;

 private:
  std::uint64_t seed_;
  std::uint32_t vocabulary_;
  std::variant<LengthSource, TreeSource> shapes_;
};

// Sets the request's structure, and its only input, which is there unless the model has none. Views
// `content`.
void fill_request(ClientRequest& request, const RequestContent& content);

}  // namespace volvox
