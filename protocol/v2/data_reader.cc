#include "protocol/v2/data_reader.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "protocol/text.h"
#include "protocol/v2/datatype.h"
#include "protocol/v2/document.h"
#include "protocol/v2/elements.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr std::size_t kInputDepth = 3;  // open containers within an input: document, list of inputs, input

// Takes the parser's events; each says whether to go on.
class DataReader final : public nlohmann::json_sax<json> {
 public:
  explicit DataReader(std::vector<V2JsonTensor>& inputs) : inputs_(inputs) {}

  const std::optional<Error>& error() const { return error_; }

  bool null() override { return in_data() ? refuse("null is no number") : true; }
  bool boolean(bool value) override {
    if (!levels_.empty() && tensor().type != WireType::kBool)
      return refuse("true and false are for BOOL only");
    return number(std::uint64_t{value});
  }
  bool number_integer(std::int64_t value) override { return number(value); }
  bool number_unsigned(std::uint64_t value) override { return number(value); }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool string(std::string&) override { return in_data() ? refuse("text is no number") : true; }
  bool binary(json::binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    if (in_data()) return refuse("an object is no number");
    if (++depth_ == kInputDepth) ++input_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      in_inputs_ = name == "inputs";
      input_ = 0;
    }
    data_next_ = depth_ == kInputDepth && in_inputs_ && name == "data";
    return true;
  }

  bool start_array(std::size_t) override {
    if (data_next_) return begin_data();
    if (!levels_.empty()) return open_level();
    ++depth_;
    return true;
  }
  bool end_array() override {
    if (!levels_.empty()) return close_level();
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    error_ = v2_json_error(error);
    return false;
  }

 private:
  // Within "data", or where it should begin.
  bool in_data() const { return !levels_.empty() || data_next_; }
  V2JsonTensor& tensor() { return inputs_[input_ - 1]; }

  bool refuse(const std::string& what) {
    const bool known = input_ > 0 && input_ <= inputs_.size();
    error_ = Error{ErrorCode::kInvalidArgument,
                   (known ? "input '" + cleaned_text(tensor().name, 128) + "': " : std::string()) + what};
    return false;
  }

  bool begin_data() {
    data_next_ = false;
    if (input_ > inputs_.size() || tensor().seen) return refuse("\"data\" is given twice");
    if (tensor().binary) return refuse("has both \"data\" and binary_data_size; give one of them");
    if (!v2_json_carries(tensor().type)) {
      return refuse(std::string(v2_datatype(tensor().type)) + " travels as binary data only");
    }
    tensor().seen = true;
    nested_ = false;
    count_ = 0;
    levels_.assign(1, 0);
    return true;
  }

  bool open_level() {
    if (count_ > 0 && !nested_) return refuse("\"data\" mixes numbers and lists");
    if (levels_.size() >= tensor().shape.rank()) return refuse("\"data\" nests deeper than the shape");
    nested_ = true;
    ++levels_.back();
    levels_.push_back(0);
    return true;
  }

  bool close_level() {
    const std::size_t level = levels_.size() - 1;
    const std::uint64_t found = levels_.back();
    if (nested_ && found != static_cast<std::uint64_t>(tensor().shape[level])) {
      return refuse("a list of \"data\" at dimension " + std::to_string(level) + " has " +
                    std::to_string(found) + " entries; the shape is " + to_string(tensor().shape));
    }
    levels_.pop_back();
    if (levels_.empty() && count_ != tensor().elements) {
      return refuse("\"data\" has " + std::to_string(count_) + " elements; the shape " +
                    to_string(tensor().shape) + " needs " + std::to_string(tensor().elements));
    }
    return true;
  }

  template <class Number>
  bool number(Number value) {
    if (data_next_) return refuse("\"data\" must be a list");
    if (levels_.empty()) return true;
    V2JsonTensor& tensor = this->tensor();
    if (nested_ && levels_.size() != tensor.shape.rank()) return refuse("\"data\" mixes numbers and lists");
    if (count_ == tensor.elements) {
      return refuse("\"data\" has more elements than the shape " + to_string(tensor.shape) + " needs");
    }
    if (!append_element(tensor.type, value, tensor.bytes)) {
      return refuse(json(value).dump() + " at " + std::to_string(count_) + " is no " +
                    std::string(v2_datatype(tensor.type)));
    }
    ++count_;
    ++levels_.back();
    return true;
  }

  std::vector<V2JsonTensor>& inputs_;
  std::optional<Error> error_;
  std::size_t depth_ = 0;  // open containers outside of "data"
  std::size_t input_ = 0;  // counted from 1
  bool in_inputs_ = false, data_next_ = false;
  std::vector<std::uint64_t> levels_;  // entries so far of each open list of "data"
  bool nested_ = false;
  std::size_t count_ = 0;  // elements so far
};

}  // namespace

Status read_v2_data(std::string_view text, std::vector<V2JsonTensor>& inputs) {
  DataReader reader(inputs);
  const bool read = json::sax_parse(text, &reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  if (!read) return invalid("the request is no JSON");
  for (const V2JsonTensor& input : inputs) {
    if (input.seen || input.binary) continue;
    return invalid("input '" + cleaned_text(input.name, 128) +
                   "': has no data; give \"data\", or binary_data_size among its parameters");
  }
  return {};
}

}  // namespace volvox
