#include "protocol/v2/request_codec.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/codec/structure_check.h"
#include "protocol/text.h"
#include "protocol/v2/data_reader.h"
#include "protocol/v2/datatype.h"
#include "protocol/v2/document.h"
#include "protocol/v2/parameters.h"

namespace volvox {
namespace {

using nlohmann::json;

Status check_keys(const json& object, std::initializer_list<std::string_view> known,
                  const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return invalid(where + "\"" + cleaned_text(key, 128) + "\" is no key of the protocol");
  }
  return {};
}

// The list of that name; null if there is none.
Result<const json*> list_of(const json& document, const char* key, std::size_t most) {
  const auto found = document.find(key);
  if (found == document.end()) return nullptr;
  const std::string name = std::string("\"").append(key).append("\"");
  const auto is_object = [](const json& entry) { return entry.is_object(); };
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_object)) {
    return invalid(name + " must be a list of objects");
  }
  if (found->size() > most) {
    return invalid(name + " has " + std::to_string(found->size()) + " entries; the limit is " +
                   std::to_string(most));
  }
  return &*found;
}

Result<std::string> name_of(const json& entry, std::string_view what) {
  const auto found = entry.find("name");
  if (found == entry.end() || !found->is_string()) {
    return invalid("each " + std::string(what) + " needs a \"name\"");
  }
  return found->get<std::string>();
}

Result<WireShape> shape_of(const json& input, const std::string& where) {
  const auto found = input.find("shape");
  if (found == input.end() || !found->is_array()) return invalid(where + "\"shape\" must be a list of sizes");
  WireShape shape;
  for (const json& dim : *found) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > (1ULL << 40)) {
      return invalid(where + dim.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40) +
                     " in \"shape\" is no size; sizes are whole numbers from 0 on");
    }
    if (!shape.append(dim.get<std::int64_t>())) {
      return invalid(where + "\"shape\" has more than " + std::to_string(WireShape::kMaxRank) +
                     " dimensions");
    }
  }
  return shape;
}

// Reads one content into one request.
class Decoder {
 public:
  Decoder(std::span<const std::byte> content, std::size_t json_bytes, const WireLimits& limits)
      : text_(reinterpret_cast<const char*>(content.data()), json_bytes),
        binary_(content.subspan(json_bytes)),
        limits_(limits) {}

  Result<V2Request> decode() {
    const auto document = parse_v2_document(text_, limits_);
    if (!document) return tl::unexpected(document.error());
    for (const auto step : {&Decoder::read_top, &Decoder::read_inputs, &Decoder::read_outputs}) {
      if (const Status ok = (this->*step)(document->json); !ok) return tl::unexpected(ok.error());
    }
    if (const Status ok = read_v2_data(text_, tensors_); !ok) return tl::unexpected(ok.error());
    take_inputs();
    const Status ok = document->has_structure ? read_structure() : assume_chain();
    if (!ok) return tl::unexpected(ok.error());
    return std::move(request_);
  }

 private:
  Status read_top(const json& document) {
    if (auto ok = check_keys(document, {"id", "parameters", "inputs", "outputs"}, ""); !ok) return ok;
    if (const auto id = document.find("id"); id != document.end()) {
      if (!id->is_string() || id->get_ref<const std::string&>().size() > limits_.max_name_bytes ||
          !is_clean_text(id->get_ref<const std::string&>())) {
        return invalid("\"id\" must be a text of at most " + std::to_string(limits_.max_name_bytes) +
                       " bytes without control characters");
      }
      request_.id = id->get<std::string>();
    }
    const auto parameters = v2_parameters(document, "");
    if (!parameters) return tl::unexpected(parameters.error());
    return read_v2_request_parameters(*parameters, limits_, request_);
  }

  Status read_inputs(const json& document) {
    const auto inputs = list_of(document, "inputs", limits_.max_tensors);
    if (!inputs) return tl::unexpected(inputs.error());
    const bool none = *inputs == nullptr || (*inputs)->empty();
    if (none && !request_.sequence.may_be_empty()) return invalid("give \"inputs\", a list of tensors");
    for (std::size_t i = 0; !none && i < (*inputs)->size(); ++i) {
      if (auto ok = read_input((**inputs)[i]); !ok) return ok;
    }
    if (binary_.empty()) return {};
    return invalid(std::to_string(binary_.size()) +
                   " bytes follow the last binary input; do the binary_data_size add up?");
  }

  Status read_input(const json& input) {
    V2JsonTensor tensor;
    const auto name = name_of(input, "input");
    if (!name) return tl::unexpected(name.error());
    tensor.name = *name;
    const std::string where = "input '" + cleaned_text(tensor.name, 128) + "': ";
    if (auto ok = check_keys(input, {"name", "shape", "datatype", "parameters"}, where); !ok) return ok;
    const auto datatype = input.find("datatype");
    const auto type = datatype != input.end() && datatype->is_string()
                          ? wire_type_from_v2(datatype->get_ref<const std::string&>())
                          : std::nullopt;
    if (!type) return invalid(where + "\"datatype\" must be FP32, INT32, INT64, BOOL or the like");
    tensor.type = *type;
    const auto shape = shape_of(input, where);
    if (!shape) return tl::unexpected(shape.error());
    tensor.shape = *shape;
    const auto bytes = tensor_bytes(*type, *shape);
    if (!bytes || *bytes > limits_.max_body_bytes - bytes_) {
      return invalid(where + "the shape " + to_string(*shape) +
                     " is impossible, or needs more bytes than wire.max_body_bytes leaves");
    }
    bytes_ += *bytes;
    tensor.elements = *bytes / element_bytes(*type);
    return read_input_parameters(input, where, *bytes, std::move(tensor));
  }

  Status read_input_parameters(const json& input, const std::string& where, std::size_t needed,
                               V2JsonTensor tensor) {
    const auto parameters = v2_parameters(input, where);
    if (!parameters) return tl::unexpected(parameters.error());
    std::span<const std::byte> bytes;
    for (const auto& [key, value] : parameters->items()) {
      if (key != "binary_data_size") {
        return invalid(where + "parameter '" + cleaned_text(key, 128) +
                       "' is not known; there is binary_data_size");
      }
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() != needed) {
        return invalid(where + "binary_data_size must be " + std::to_string(needed) + ", as its shape " +
                       to_string(tensor.shape) + " says");
      }
      if (needed > binary_.size()) {
        return invalid(where +
                       "the content ends before its binary data; is Inference-Header-Content-Length " +
                       "the length of the JSON?");
      }
      tensor.binary = true;
      bytes = binary_.first(needed);
      binary_ = binary_.subspan(needed);
    }
    tensors_.push_back(std::move(tensor));
    binary_inputs_.push_back(bytes);
    return {};
  }

  Status read_outputs(const json& document) {
    const auto outputs = list_of(document, "outputs", limits_.max_tensors);
    if (!outputs) return tl::unexpected(outputs.error());
    if (*outputs == nullptr) return {};
    for (const json& output : **outputs) {
      if (auto ok = read_output(output); !ok) return ok;
    }
    return {};
  }

  Status read_output(const json& output) {
    const auto name = name_of(output, "output");
    if (!name) return tl::unexpected(name.error());
    const std::string where = "output '" + cleaned_text(*name, 128) + "': ";
    if (auto ok = check_keys(output, {"name", "parameters"}, where); !ok) return ok;
    const auto parameters = v2_parameters(output, where);
    if (!parameters) return tl::unexpected(parameters.error());
    for (const auto& [key, value] : parameters->items()) {
      if (key == "binary_data" || (key == "classification" && value == 0)) continue;
      return invalid(where + "parameter '" + cleaned_text(key, 128) + "' is not known; there is binary_data");
    }
    V2Wishes::Output wish{*name, request_.wishes.binary};
    if (auto ok = read_v2_flag(*parameters, "binary_data", where, wish.binary); !ok) return ok;
    request_.body.outputs.push_back(request_.names.emplace_back(*name));
    request_.wishes.outputs.push_back(std::move(wish));
    return {};
  }

  void take_inputs() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      V2JsonTensor& from = tensors_[i];
      WireTensor& tensor = request_.body.inputs.emplace_back();
      tensor.name = request_.names.emplace_back(std::move(from.name));
      tensor.type = from.type;
      tensor.shape = from.shape;
      tensor.bytes = from.binary
                         ? binary_inputs_[i]
                         : std::span<const std::byte>(request_.tensors.emplace_back(std::move(from.bytes)));
    }
  }

  Status read_structure() {
    auto structure = read_v2_structure(text_, limits_);
    if (!structure) return tl::unexpected(std::move(structure).error());
    request_.written = std::move(*structure);
    request_.body.structure = request_.written.structure;
    request_.header.cells_hint = nodes_in(request_.body.structure);
    return check_structure(request_.body.structure, limits_);
  }

  Status assume_chain() {
    if (request_.body.inputs.empty()) {
      request_.body.structure = ChainStructure{0};
      return {};
    }
    const WireTensor& first = request_.body.inputs.front();
    if (first.shape.rank() == 0 || first.shape[0] > std::numeric_limits<std::uint32_t>::max()) {
      return invalid("input '" + cleaned_text(first.name, 128) +
                     "': its first dimension is the number of steps, and must be there");
    }
    request_.body.structure = ChainStructure{static_cast<std::uint32_t>(first.shape[0])};
    request_.header.cells_hint = static_cast<std::uint32_t>(first.shape[0]);
    return {};
  }

  std::string_view text_;
  std::span<const std::byte> binary_;  // what is left of it
  const WireLimits& limits_;
  std::size_t bytes_ = 0;  // of all inputs so far
  V2Request request_;
  std::vector<V2JsonTensor> tensors_;
  std::vector<std::span<const std::byte>> binary_inputs_;  // by input; empty where it is JSON
};

}  // namespace

bool V2Wishes::wants_binary(std::string_view output) const {
  const auto found =
      std::find_if(outputs.begin(), outputs.end(), [&](const Output& wish) { return wish.name == output; });
  return found == outputs.end() ? binary : found->binary;
}

Result<V2Request> decode_v2_request(std::span<const std::byte> content, std::optional<std::size_t> json_bytes,
                                    const WireLimits& limits) {
  if (json_bytes && *json_bytes > content.size()) {
    return invalid("Inference-Header-Content-Length is " + std::to_string(*json_bytes) +
                   ", more than the content has: " + std::to_string(content.size()));
  }
  return Decoder(content, json_bytes.value_or(content.size()), limits).decode();
}

}  // namespace volvox
