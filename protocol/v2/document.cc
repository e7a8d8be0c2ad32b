#include "protocol/v2/document.h"

#include <functional>
#include <string>

#include "protocol/text.h"

namespace volvox {
namespace {

using nlohmann::json;

// Values that one tensor may have beside its data: its fields, its shape, its parameters.
constexpr std::size_t kValuesPerTensor = 64;

// What the text breaks, thrown through the parser.
struct Refusal {
  Error error;
};

// Sees every value of the document; says which are kept.
class Filter {
 public:
  explicit Filter(const WireLimits& limits)
      : nesting_(limits.nesting), left_(kValuesPerTensor * (2 + 2 * std::size_t{limits.max_tensors})) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    using Event = json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && static_cast<std::size_t>(depth) >= nesting_) {
      throw Refusal{{ErrorCode::kInvalidArgument,
                     "the JSON nests deeper than " + std::to_string(nesting_) + " levels (wire.nesting)"}};
    }
    if (event == Event::key && depth <= kInputDepth) dropping_ = is_data(depth, parsed);
    if (event == Event::object_end && depth < kInputDepth) dropping_ = false;
    if (dropping_) return event != Event::key || depth != kInputDepth;
    if ((opens || event == Event::value) && left_-- == 0) {
      throw Refusal{{ErrorCode::kInvalidArgument,
                     "the JSON has more values outside of \"data\" than wire.max_tensors "
                     "tensors can need"}};
    }
    return true;
  }

 private:
  static constexpr int kInputDepth = 3;  // the keys of an input: document, list of inputs, input

  bool is_data(int depth, const json& key) {
    if (depth == 1) in_inputs_ = key == "inputs";
    return depth == kInputDepth && in_inputs_ && key == "data";
  }

  std::size_t nesting_, left_;
  bool in_inputs_ = false, dropping_ = false;
};

}  // namespace

Error v2_json_error(const json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: …": the first part is of no use.
  std::string_view text = error.what();
  if (const std::size_t end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
  return {ErrorCode::kInvalidArgument,
          "the request is no JSON: " + cleaned_text(text, kMaxErrorTextBytes / 2)};
}

Result<json> parse_v2_document(std::string_view text, const WireLimits& limits) {
  try {
    Filter filter(limits);
    json document = json::parse(text, std::ref(filter));
    if (!document.is_object()) return invalid("a request is a JSON object: {\"inputs\": […]}");
    return document;
  } catch (const Refusal& refusal) {
    return tl::unexpected(refusal.error);
  } catch (const json::exception& error) {
    return tl::unexpected(v2_json_error(error));
  }
}

}  // namespace volvox
