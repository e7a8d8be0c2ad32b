#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cells/model/model_definition.h"

namespace volvox {

// Parses model.toml. `file` stands in errors, which say "file:line: key: why". Unknown keys are errors, so
// that a misspelt one is not silently ignored.
Result<ModelDefinition> parse_model_definition(std::string_view toml, std::string_view file);

// The reverse: text that parses to the same definition.
std::string to_toml(const ModelDefinition& definition);

}  // namespace volvox
