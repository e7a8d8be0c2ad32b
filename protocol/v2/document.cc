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
    if (event == Event::key && (left_out_ == 0 || depth <= left_out_)) {
      left_out_ = is_read_later(depth, parsed) ? depth : 0;
    }
    if (event == Event::object_end && depth < left_out_) left_out_ = 0;
    if (left_out_ != 0) return event != Event::key || depth != left_out_;
    if ((opens || event == Event::value) && left_-- == 0) {
      throw Refusal{{ErrorCode::kInvalidArgument,
                     "the JSON has more values outside of \"data\" than wire.max_tensors "
                     "tensors can need"}};
    }
    return true;
  }

  bool has_structure() const { return has_structure_; }

 private:
  static constexpr int kParameterDepth = 2;  // the keys of a parameter: document, parameters
  static constexpr int kInputDepth = 3;      // the keys of an input: document, list of inputs, input

  bool is_read_later(int depth, const json& key) {
    if (depth == 1) {
      in_inputs_ = key == "inputs";
      in_parameters_ = key == "parameters";
    }
    if (depth == kInputDepth) return in_inputs_ && key == "data";
    const bool is_structure = depth == kParameterDepth && in_parameters_ && key == "structure";
    has_structure_ = has_structure_ || is_structure;
    return is_structure;
  }

  std::size_t nesting_, left_;
  bool in_inputs_ = false, in_parameters_ = false, has_structure_ = false;
  int left_out_ = 0;  // the depth of the key whose value is read later; 0: there is none
};

}  // namespace

Error v2_json_error(const json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: …": the first part is of no use.
  std::string_view text = error.what();
  if (const std::size_t end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
  return {ErrorCode::kInvalidArgument,
          "the request is no JSON: " + cleaned_text(text, kMaxErrorTextBytes / 2)};
}

Result<V2Document> parse_v2_document(std::string_view text, const WireLimits& limits) {
  try {
    Filter filter(limits);
    V2Document document;
    document.json = json::parse(text, std::ref(filter));
    if (!document.json.is_object()) return invalid("a request is a JSON object: {\"inputs\": […]}");
    document.has_structure = filter.has_structure();
    return document;
  } catch (const Refusal& refusal) {
    return tl::unexpected(refusal.error);
  } catch (const json::exception& error) {
    return tl::unexpected(v2_json_error(error));
  }
}

}  // namespace volvox
