// What is said of a router's address to which no connection comes about.

#include "actors/cluster/cluster_probe.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace volvox {
namespace {

Result<ProbeConnection> probe(const char* ip) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1);  // nobody listens there
  EXPECT_EQ(inet_pton(AF_INET, ip, &address.sin_addr), 1);
  addrinfo where{};
  where.ai_family = AF_INET;
  where.ai_addr = reinterpret_cast<sockaddr*>(&address);
  where.ai_addrlen = sizeof address;
  return probe_router(where, nullptr);
}

void expect_says(const Result<ProbeConnection>& answer, int error) {
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(answer.error().message, std::strerror(error));
}

TEST(ClusterProbe, SaysThatNobodyListens) {
  expect_says(probe("127.0.0.1"), ECONNREFUSED);
}

// TCP goes to no broadcast address; connect says so at once.
TEST(ClusterProbe, SaysThatNoWayLeadsThere) {
  expect_says(probe("255.255.255.255"), ENETUNREACH);
}

}  // namespace
}  // namespace volvox
