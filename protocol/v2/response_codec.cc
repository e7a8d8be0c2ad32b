#include "protocol/v2/response_codec.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "protocol/text.h"
#include "protocol/v2/datatype.h"
#include "protocol/v2/elements.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestNumber = 32;    // and its comma; a double has at most 24 characters
constexpr std::size_t kBytesPerOutput = 512;  // its name, shape and so on
constexpr std::size_t kBytesPerAnswer = 1024;

std::string quoted(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_number(std::string& text, std::uint64_t number) {
  text.append(std::to_string(number));
}

// The shortest form that reads back to the same value. False for what JSON has no number for.
template <class T>
bool append_value(std::string& text, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    text.append(value ? "true" : "false");
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return false;
    }
    std::array<char, kLongestNumber> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
    if constexpr (std::is_floating_point_v<T>) {
      if (value == 0 && std::signbit(value))
        text.append(".0");  // "-0" is an integer, without a sign, to some
    }
  }
  return true;
}

template <class T>
Status append_values(std::string& text, const WireTensor& tensor) {
  for (std::size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
    T value{};
    if constexpr (std::is_same_v<T, bool>) {
      value = tensor.bytes[at] != std::byte{0};
    } else {
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
    }
    if (at > 0) text.push_back(',');
    if (append_value(text, value)) continue;
    return invalid("output '" + cleaned_text(tensor.name, 128) + "' has a value at " +
                   std::to_string(at / sizeof(T)) +
                   " that is not finite, which JSON cannot carry; ask for binary_data");
  }
  return {};
}

Status append_data(std::string& text, const WireTensor& tensor) {
  if (!v2_json_carries(tensor.type)) {
    return invalid("output '" + cleaned_text(tensor.name, 128) + "' is " +
                   std::string(v2_datatype(tensor.type)) + ", which JSON cannot carry; ask for binary_data");
  }
  Status appended;
  text.append("\"data\":[");
  visit_element_type(tensor.type, [&](auto zero) { appended = append_values<decltype(zero)>(text, tensor); });
  text.push_back(']');
  return appended;
}

Status append_output(std::string& text, const WireTensor& tensor, bool binary) {
  text.append("{\"name\":").append(quoted(tensor.name)).append(",\"datatype\":\"");
  text.append(v2_datatype(tensor.type)).append("\",\"shape\":[");
  for (std::size_t axis = 0; axis < tensor.shape.rank(); ++axis) {
    if (axis > 0) text.push_back(',');
    text.append(std::to_string(tensor.shape[axis]));
  }
  text.append("],");
  Status appended;
  if (binary) {
    text.append("\"parameters\":{\"binary_data_size\":");
    append_number(text, tensor.bytes.size());
    text.push_back('}');
  } else {
    appended = append_data(text, tensor);
  }
  text.push_back('}');
  return appended;
}

void append_head(std::string& text, const V2Answer& answer) {
  text.append("{\"model_name\":").append(quoted(answer.model));
  text.append(",\"model_version\":\"").append(std::to_string(answer.version)).push_back('"');
  if (!answer.id.empty()) text.append(",\"id\":").append(quoted(answer.id));
  text.append(",\"parameters\":{\"cells\":");
  append_number(text, answer.cells);
  text.append(",\"queue_us\":");
  append_number(text, answer.timings.queue_us);
  text.append(",\"compute_us\":");
  append_number(text, answer.timings.compute_us);
  text.append(",\"total_us\":");
  append_number(text, answer.timings.total_us);
  text.append("},\"outputs\":[");
}

}  // namespace

std::size_t v2_answer_bound(const V2Answer& answer, const V2Wishes& wishes) {
  std::size_t bytes = kBytesPerAnswer + 6 * (answer.model.size() + answer.id.size());
  for (const WireTensor& output : answer.outputs) {
    const std::size_t elements = output.bytes.size() / element_bytes(output.type);
    bytes += kBytesPerOutput + 6 * output.name.size();
    bytes += wishes.wants_binary(output.name) ? output.bytes.size() : kLongestNumber * elements;
  }
  return bytes;
}

Result<V2Content> encode_v2_answer(const V2Answer& answer, const V2Wishes& wishes) {
  V2Content content;
  std::string& text = content.bytes;
  append_head(text, answer);
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    const WireTensor& output = answer.outputs[i];
    const bool binary = wishes.wants_binary(output.name);
    content.binary = content.binary || binary;
    if (i > 0) text.push_back(',');
    if (const Status ok = append_output(text, output, binary); !ok) return tl::unexpected(ok.error());
  }
  text.append("]}");
  content.json_bytes = text.size();
  for (const WireTensor& output : answer.outputs) {
    if (!wishes.wants_binary(output.name)) continue;
    text.append(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size());
  }
  return content;
}

std::string v2_error_content(std::string_view message) {
  json content;
  content["error"] = cleaned_text(message, kMaxErrorTextBytes);
  return content.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace volvox
