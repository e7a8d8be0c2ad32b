#include "cli/session_file.h"

#include <fstream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/whole_file.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

nlohmann::json to_json(const WireSessionToken& token) {
  return {{"id_hi", token.id_hi},
          {"id_lo", token.id_lo},
          {"model_version", token.model_version},
          {"model_digest", token.model_digest},
          {"numerics_id", token.numerics_id},
          {"epoch", token.epoch},
          {"sequence", token.sequence},
          {"home", token.home},
          {"replica", token.replica}};
}

WireSessionToken from_json(const nlohmann::json& json) {
  WireSessionToken token;
  json.at("id_hi").get_to(token.id_hi);
  json.at("id_lo").get_to(token.id_lo);
  json.at("model_version").get_to(token.model_version);
  json.at("model_digest").get_to(token.model_digest);
  json.at("numerics_id").get_to(token.numerics_id);
  json.at("epoch").get_to(token.epoch);
  json.at("sequence").get_to(token.sequence);
  json.at("home").get_to(token.home);
  json.at("replica").get_to(token.replica);
  return token;
}

}  // namespace

Result<SessionStream> read_session_file(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return SessionStream::begin();
  std::ifstream opened(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(opened), {}};
  try {
    return SessionStream(from_json(nlohmann::json::parse(text)));
  } catch (const nlohmann::json::exception&) {
    return invalid(file.string() + " holds no session; remove it to begin a new one");
  }
}

Status write_session_file(const fs::path& file, const WireSessionToken& token) {
  return write_whole_file(file, to_json(token).dump(2) + '\n', 0600);
}

}  // namespace volvox
