// A text as the server's configuration and as a model.toml: it is refused by a typed error, or read to values
// that are the same after they have been written and read once more.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cells/model/model_definition.h"
#include "config/load.h"
#include "config/validate.h"
#include "repository/model_toml.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

void check_config(std::string_view text) {
  const auto config = parse_config(text, "serve.toml");
  if (!config) return require_refusal(config.error());
  require(validate(*config).has_value(), "a configuration that is accepted is valid");
  const auto again = parse_config(to_toml(*config), "serve.toml");
  require(again && *again == *config, "a configuration is the same when it is read again");
}

void check_definition(std::string_view text) {
  const auto definition = parse_model_definition(text, "model.toml");
  if (!definition) return require_refusal(definition.error());
  const std::string written = to_toml(*definition);
  const auto again = parse_model_definition(written, "model.toml");
  require(again && to_toml(*again) == written, "a definition is the same when it is read again");
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  volvox::fuzz::check_config(text);
  volvox::fuzz::check_definition(text);
  return 0;
}
