#include <functional>

#include <gmock/gmock.h>

#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using testing::HasSubstr;

const std::vector<std::int32_t> kTokens{1, 2, 3};

struct BadRequest {
  const char* name;
  std::function<void(ClientRequest&)> spoil;  // of a good request for the check model
  ErrorCode code;
  const char* says;
};

const std::vector<float> kFloats{1, 2, 3};
const std::vector<std::int32_t> kNegative{1, -1, 3};

WireTensor tensor_of(std::string_view name, const std::vector<std::int32_t>& values, const WireShape& shape) {
  return wire_tensor(name, std::span(values), shape);
}

const BadRequest kBad[] = {
    {"model", [](auto& r) { r.header.model = "nobody"; }, ErrorCode::kModelNotFound,
     "there are 'check', 'every', 'noop'"},
    {"version", [](auto& r) { r.header.model_version = 9; }, ErrorCode::kModelNotFound,
     "no version 9; it has 1"},
    {"structure", [](auto& r) { r.body.structure = NoStructure{}; }, ErrorCode::kInvalidArgument, "chain"},
    {"length", [](auto& r) { r.body.structure = ChainStructure{2}; }, ErrorCode::kInvalidArgument,
     "must have the shape [2]"},
    {"too long", [](auto& r) { r.body.structure = ChainStructure{1'000'000}; }, ErrorCode::kInvalidArgument,
     "must be between 1 and"},
    {"no input", [](auto& r) { r.body.inputs.clear(); }, ErrorCode::kInvalidArgument,
     "input 'tokens' is missing"},
    {"input name", [](auto& r) { r.body.inputs[0].name = "words"; }, ErrorCode::kInvalidArgument,
     "'words' is none of the model's; it has 'tokens'"},
    {"input twice", [](auto& r) { r.body.inputs.push_back(r.body.inputs[0]); }, ErrorCode::kInvalidArgument,
     "tokens"},
    {"input type", [](auto& r) { r.body.inputs[0] = wire_tensor("tokens", std::span(kFloats)); },
     ErrorCode::kInvalidArgument, "must be of type i32, not f32"},
    {"input shape",
     [](auto& r) {
       r.body.inputs[0] = tensor_of("tokens", kTokens, {3, 1});
     },
     ErrorCode::kInvalidArgument, "must have the shape [3], a row for each step, not [3, 1]"},
    {"output", [](auto& r) { r.body.outputs = {"h"}; }, ErrorCode::kInvalidArgument,
     "output 'h' is none of the model's; it has 'state'"},
    {"session", [](auto& r) { r.header.session.emplace().operation = SessionOperation::kContinue; },
     ErrorCode::kInvalidArgument, "names no session"},
};

TEST(BadRequest, EachIsAnsweredWithItsCodeAndASentence) {
  const House house;
  for (const BadRequest& bad : kBad) {
    SCOPED_TRACE(bad.name);
    ClientRequest request = chain_request("check", "tokens", std::span(kTokens));
    bad.spoil(request);
    const Reply reply = house.ask(request);
    EXPECT_EQ(code_of(reply), bad.code) << reply.header.error.message;
    EXPECT_THAT(reply.header.error.message, HasSubstr(bad.says));
  }
  EXPECT_EQ(state_in(house.ask(kTokens)), check_answer(kTokens));
  EXPECT_THAT(house.monitor.metrics_page().body, HasSubstr("volvox_actor_restarts_total 0\n"));
}

TEST(BadRequest, WantedOutputsMayBeNamed) {
  const House house;
  ClientRequest request = chain_request("check", "tokens", std::span(kTokens));
  request.body.outputs = {"state"};
  const Reply reply = house.ask(request);
  EXPECT_EQ(state_in(reply), check_answer(kTokens)) << reply.header.error.message;
}

TEST(BadRequest, RandomBytesAreAnsweredAndHarmNobody) {
  const House house;
  ZmqContext context;
  ZmqSocket socket(context, ZMQ_DEALER);
  ASSERT_EQ(zmq_connect(socket.handle(), house.server->endpoint().c_str()), 0);
  const char junk[] = "\x01\x02\x03\x04 this is no header and no body";
  for (int frames = 1; frames <= 4; ++frames) {
    for (int frame = 1; frame <= frames; ++frame) {
      ASSERT_GE(zmq_send(socket.handle(), junk, sizeof junk, frame < frames ? ZMQ_SNDMORE : 0), 0);
    }
  }
  const Reply reply = house.ask(kTokens);
  EXPECT_EQ(state_in(reply), check_answer(kTokens)) << reply.header.error.message << reply.local;
}

}  // namespace
}  // namespace volvox
