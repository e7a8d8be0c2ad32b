#include <cstdio>

#include <nlohmann/json.hpp>

#include "loadgen/report/format.h"
#include "loadgen/report/percentiles.h"
#include "loadgen/sessions/session_load.h"

namespace volvox {
bool is_good(const SessionLoadReport& report) {
  return report.wrong == 0 && report.lost == 0 && report.duplicates == 0 && report.verified > 0;
}

std::string to_json_text(const SessionLoadReport& report) {
  nlohmann::json json;
  json["begun"] = report.begun;
  json["ended"] = report.ended;
  json["abandoned"] = report.abandoned;
  json["over"] = report.over;
  json["sent"] = report.sent;
  json["answered"] = report.answered;
  json["repeats"] = report.repeats;
  json["cancels"] = report.cancels;
  json["replaced"] = report.replaced;
  json["verified"] = report.verified;
  json["wrong"] = report.wrong;
  json["lost"] = report.lost;
  json["duplicates"] = report.duplicates;
  json["resent"] = report.resent;
  json["late_answers"] = report.late_answers;
  json["errors"] = report.errors;
  json["seconds"] = report.seconds;
  json["part_ms"] = percentiles_ms(report.part);
  return json.dump(2) + "\n";
}

std::string to_text(const SessionLoadReport& report) {
  char text[512];
  std::snprintf(
      text, sizeof text,
      "sessions %llu begun, %llu ended, %llu verified, %llu wrong\n"
      "requests %llu sent, %llu answered, %llu repeats, %llu cancels, %llu lost, %llu duplicates\n"
      "part     p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
      static_cast<unsigned long long>(report.begun), static_cast<unsigned long long>(report.ended),
      static_cast<unsigned long long>(report.verified), static_cast<unsigned long long>(report.wrong),
      static_cast<unsigned long long>(report.sent), static_cast<unsigned long long>(report.answered),
      static_cast<unsigned long long>(report.repeats), static_cast<unsigned long long>(report.cancels),
      static_cast<unsigned long long>(report.lost), static_cast<unsigned long long>(report.duplicates),
      in_ms(report.part.percentile(0.5)), in_ms(report.part.percentile(0.99)), in_ms(report.part.max()));
  std::string all = text;
  for (const auto& [code, count] : report.errors)
    all += "errors   " + std::to_string(count) + " " + code + "\n";
  return all;
}

}  // namespace volvox
