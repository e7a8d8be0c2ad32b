// A line on the admin socket: it is refused by a typed error, or becomes a command; and whatever is answered
// is one line of JSON that says the same when it is read.

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "actors/admin/admin_line.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

// Answers repeat words of the command.
void check_answer(const std::string& answer) {
  require(answer.find('\n') == std::string::npos, "an answer is one line");
  const auto read = parse_admin_line(answer);
  require(read && read->contains("ok"), "an answer is a JSON object that says whether all is well");
}

void check_command(const nlohmann::json& command) {
  for (const char* key : {"command", "model", "node", "level"}) {
    const auto value = admin_string(command, key);
    if (!value) {
      require_refusal(value.error());
      check_answer(admin_failure(value.error()));
    } else {
      check_answer(admin_failure({ErrorCode::kModelNotFound, "there is no '" + *value + "'"}));
      check_answer(admin_text({{"ok", true}, {"model", *value}}));
    }
  }
  check_answer(change_log_level(command));
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox::fuzz;
  const auto command = volvox::parse_admin_line(std::string(reinterpret_cast<const char*>(data), size));
  if (command) {
    check_command(*command);
  } else {
    require_refusal(command.error());
  }
  return 0;
}
