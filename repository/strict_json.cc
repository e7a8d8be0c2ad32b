#include "repository/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace volvox {
namespace {

using Json = nlohmann::json;

class Screening : public nlohmann::json_sax<Json> {
 public:
  explicit Screening(std::size_t max_depth) : max_depth_(max_depth) {}

  const std::string& error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    error_ = in_quotes(name) + " stands in it twice";
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    error_ = "is no JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  bool enter() {
    names_.emplace_back();
    if (names_.size() <= max_depth_) return true;
    error_ = "is nested too deeply";
    return false;
  }
  bool leave() {
    names_.pop_back();
    return true;
  }

  const std::size_t max_depth_;
  std::vector<std::set<std::string>> names_;
  std::string error_;
};

}  // namespace

Result<Json> parse_strict_json(std::string_view text, std::size_t max_depth) {
  Screening screening(max_depth);
  if (!Json::sax_parse(text, &screening)) return invalid(screening.error());
  return Json::parse(text, nullptr, false);
}

}  // namespace volvox
