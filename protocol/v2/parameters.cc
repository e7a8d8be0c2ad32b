#include "protocol/v2/parameters.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "protocol/text.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLongestTimeoutUs = 365ULL * 24 * 3600 * 1'000'000;  // a year is for ever

Status read_priority(const json& value, RequestHeader& header) {
  if (!value.is_number_unsigned()) return invalid("parameter 'priority' must be a whole number from 0 on");
  const auto priority = value.get<std::uint64_t>();
  if (priority == 1) header.priority = WirePriority::kHigh;
  if (priority >= 3) header.priority = WirePriority::kLow;
  return {};
}

Status read_timeout(const json& value, RequestHeader& header) {
  if (!value.is_number_unsigned()) {
    return invalid("parameter 'timeout' must be a whole number of microseconds; 0 is none");
  }
  header.deadline_us = std::min(value.get<std::uint64_t>(), kLongestTimeoutUs);
  return {};
}

// Id 0 and "" stand for none.
Status read_sequence_id(const json& value, const WireLimits& limits, std::string& id) {
  const auto* text = value.get_ptr<const json::string_t*>();
  const bool sound = text == nullptr ? value.is_number_unsigned()
                                     : text->size() <= limits.max_name_bytes && is_clean_text(*text);
  if (!sound) {
    return invalid("parameter 'sequence_id' must be a whole number, or a text of at most " +
                   std::to_string(limits.max_name_bytes) + " bytes without control characters");
  }
  id = value == 0 || value == "" ? std::string() : value.dump();
  return {};
}

Status check_sequence(const V2Sequence& sequence) {
  if (!sequence.id.empty() || (!sequence.start && !sequence.end)) return {};
  return invalid("parameters 'sequence_start' and 'sequence_end' need a 'sequence_id' that is not 0");
}

}  // namespace

Result<json> v2_parameters(const json& object, std::string_view where) {
  const auto found = object.find("parameters");
  if (found == object.end()) return json::object();
  if (!found->is_object()) return invalid(std::string(where) + "\"parameters\" must be an object");
  for (const auto& [key, value] : found->items()) {
    if (value.is_primitive() && !value.is_null()) continue;
    return invalid(std::string(where) + "parameter '" + cleaned_text(key, 128) +
                   "' must be a number, a text, true or false");
  }
  return *found;
}

Status read_v2_request_parameters(const json& parameters, const WireLimits& limits, V2Request& request) {
  for (const auto& [key, value] : parameters.items()) {
    Status read;
    if (key == "priority") {
      read = read_priority(value, request.header);
    } else if (key == "timeout") {
      read = read_timeout(value, request.header);
    } else if (key == "sequence_id") {
      read = read_sequence_id(value, limits, request.sequence.id);
    } else if (key == "sequence_start") {
      read = read_v2_flag(parameters, "sequence_start", "", request.sequence.start);
    } else if (key == "sequence_end") {
      read = read_v2_flag(parameters, "sequence_end", "", request.sequence.end);
    } else if (key == "binary_data_output") {
      read = read_v2_flag(parameters, "binary_data_output", "", request.wishes.binary);
    } else {
      read =
          invalid("parameter '" + cleaned_text(key, 128) +
                  "' is not known; there are priority, timeout, sequence_id, sequence_start, sequence_end, "
                  "structure and binary_data_output");
    }
    if (!read) return read;
  }
  return check_sequence(request.sequence);
}

Status read_v2_flag(const json& parameters, const char* key, std::string_view where, bool& value) {
  const auto found = parameters.find(key);
  if (found == parameters.end()) return {};
  if (!found->is_boolean()) {
    return invalid(std::string(where) + "parameter '" + key + "' must be true or false");
  }
  value = found->get<bool>();
  return {};
}

}  // namespace volvox
