#include "protocol/v2/describe.h"

#include <nlohmann/json.hpp>

#include "protocol/v2/datatype.h"

namespace volvox {
namespace {

// Keeps the order in which the protocol's own pages show the keys.
using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json tensors(const std::vector<V2TensorMetadata>& metadata) {
  Json list = Json::array();
  for (const V2TensorMetadata& tensor : metadata) {
    list.push_back({{"name", tensor.name}, {"datatype", v2_datatype(tensor.type)}, {"shape", tensor.shape}});
  }
  return list;
}

Json duration(const V2Duration& spent) {
  return {{"count", spent.count}, {"ns", spent.ns}};
}

}  // namespace

std::string v2_server_metadata(std::string_view name, std::string_view version) {
  return text_of({{"name", name},
                  {"version", version},
                  {"extensions", Json::array({"binary_tensor_data", "sequence", "statistics"})}});
}

std::string v2_model_metadata(const V2ModelMetadata& model) {
  Json versions = Json::array();
  for (const std::uint32_t version : model.versions) versions.push_back(std::to_string(version));
  return text_of({{"name", model.name},
                  {"versions", versions},
                  {"platform", "volvox"},
                  {"inputs", tensors(model.inputs)},
                  {"outputs", tensors(model.outputs)}});
}

std::string v2_statistics(const V2Statistics& statistics) {
  const Json nothing = duration({});
  Json model{{"name", statistics.name},
             {"version", std::to_string(statistics.version)},
             {"last_inference", statistics.last_inference_ms},
             {"inference_count", statistics.success.count},
             {"execution_count", statistics.executions}};
  model["inference_stats"] = {
      {"success", duration(statistics.success)},       {"fail", duration(statistics.fail)},
      {"queue", duration(statistics.queue)},           {"compute_input", nothing},
      {"compute_infer", duration(statistics.compute)}, {"compute_output", nothing}};
  model["batch_stats"] = Json::array();
  Json document;
  document["model_stats"] = Json::array({model});
  return text_of(document);
}

std::string v2_live_content() {
  return text_of({{"live", true}});
}

std::string v2_ready_content(bool ready) {
  return text_of({{"ready", ready}});
}

std::string v2_model_ready_content(std::string_view name, bool ready) {
  return text_of({{"name", name}, {"ready", ready}});
}

}  // namespace volvox
