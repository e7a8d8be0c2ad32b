#include "actors/sessions/part_reader.h"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/sessions/session_token.h"

namespace volvox {

// A session whose model is gone ends, whatever the body is.
ReadPart PartReader::read(const ModelPtr& model, Work& work) const {
  const RequestHeader& header = work.request().header;
  ReadPart part;
  part.model = model;
  const auto refused = [&part](Error why) {
    part.status = tl::unexpected(std::move(why));
    return std::move(part);
  };
  const auto body = jobs_.read(work);
  if (!body) return refused(body.error());
  part.empty = session_verb(header.session->operation) == SessionVerb::kEnd && is_empty_part(*body);
  if (part.empty || model == nullptr) return part;
  if (header.stream) {
    return refused({ErrorCode::kInvalidArgument,
                    "a part of a session is not streamed; send shorter parts, and ask without `stream`"});
  }
  if (!model->sessions.possible) {
    return refused({ErrorCode::kInvalidArgument,
                    "this model's steps depend on later ones, or it asks for several at once, so it cannot "
                    "run in parts; send the whole input at once, without a session token"});
  }
  auto checked = JobMaker::check(model, *body);
  if (!checked) return refused(std::move(checked).error());
  if (node_->content_key) part.content = JobMaker::content(*checked, *node_->content_key);
  work.checked.emplace(std::move(*checked));
  return part;
}

void PartReader::read_ahead(Work& work) const {
  const RequestHeader& header = work.request().header;
  if (!is_session_part(header)) return;
  const bool begins = header.session->operation == SessionOperation::kBegin;
  const std::uint32_t version = begins ? header.model_version : header.session->model_version;
  try {
    const auto model = node_->catalog->find(header.model, version);
    work.read.emplace(read(model ? *model : ModelPtr{}, work));
  } catch (const std::exception& error) {
    spdlog::error("a part of a session could not be read ahead of its turn: {}", error.what());
  }
}

}  // namespace volvox
