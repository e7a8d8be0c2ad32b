#include "cli/admin/admin_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "cli/admin/admin.h"

namespace volvox {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  std::string value = found != object.end() && found->is_string() ? found->get<std::string>() : "-";
  std::replace_if(
      value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return value;
}

std::string number(const json& object, const char* key, double unit = 1, int digits = 0) {
  const auto found = object.find(key);
  const double value = found != object.end() && found->is_number() ? found->get<double>() : 0;
  std::array<char, 64> digits_text{};
  std::snprintf(digits_text.data(), digits_text.size(), "%.*f", digits, value / unit);
  return digits_text.data();
}

constexpr double kMib = 1 << 20;

std::string model_text(const json& model) {
  const bool conflict = !model.value("gets_traffic", true);
  return text(model, "name") + "/" + number(model, "version") + " " + text(model, "digest") +
         (conflict ? " (other weights: no traffic)" : "");
}

const json& list_in(const json& object, const char* key) {
  static const json kNone = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

// A line for each member, and one more for each of its models but the first.
std::vector<Row> member_rows(const json& members) {
  std::vector<Row> rows{{"NODE", "STATE", "IN FLIGHT", "WORK ms", "CREDIT", "MiB", "MODELS"}};
  for (const json& member : members) {
    rows.push_back({text(member, "name"), text(member, "state"), number(member, "in_flight"),
                    number(member, "work_ms", 1, 1), number(member, "request_credit"),
                    number(member, "byte_credit", kMib), ""});
    bool first = true;
    for (const json& model : list_in(member, "models")) {
      if (!std::exchange(first, false)) rows.push_back({"", "", "", "", "", "", ""});
      rows.back().back() = model_text(model);
    }
  }
  return rows;
}

std::vector<Row> model_rows(const json& models) {
  std::vector<Row> rows{{"MODEL", "STATE", "STATE MiB", "FOLDED MiB", "DIGEST"}};
  for (const json& model : models) {
    rows.push_back({text(model, "name") + "/" + number(model, "version"), text(model, "state"),
                    number(model, "state_bytes", kMib, 1), number(model, "folded_bytes", kMib, 1),
                    text(model, "digest")});
  }
  return rows;
}

std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += "  " + row[i] + std::string(widths[i] - row[i].size(), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

Result<json> ask_admin_status(const std::string& path) {
  auto status = ask_admin(path, {{"command", "status"}});
  if (!status || status->contains("members")) return status;
  const auto models = ask_admin(path, {{"command", "models.list"}});
  if (!models) return tl::unexpected(models.error());
  (*status)["models"] = list_in(*models, "models");
  return status;
}

std::string admin_report(const json& status) {
  std::string report = text(status, "server") + " (volvox " + text(status, "version") +
                       "): " + text(status, "readiness") + "\n";
  if (status.contains("members")) {
    const json& members = list_in(status, "members");
    return report + (members.empty() ? "  no node has joined\n" : table(member_rows(members)));
  }
  const json& models = list_in(status, "models");
  return report + (models.empty() ? "  no models\n" : table(model_rows(models)));
}

}  // namespace volvox
