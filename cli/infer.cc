#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/admin/key_options.h"
#include "cli/commands.h"
#include "cli/help_format.h"
#include "cli/json_request.h"
#include "cli/load/model_verifier.h"
#include "cli/option.h"
#include "cli/server/local_server.h"
#include "cli/session_file.h"
#include "protocol/client/channel_group.h"
#include "repository/repository.h"

namespace volvox {
namespace {

struct InferArguments {
  std::string endpoint = "tcp://127.0.0.1:7100", file = "-";
  double timeout_s = 30;
  bool compact = false, stream = false;
  std::uint32_t stream_from = 0;
  KeyFiles keys;
  std::string session;  // the file that holds its token; empty: the request stands alone
  bool last = false;
  std::string local;       // folder of a model that is run here; empty: a server is asked
  std::string vocabulary;  // its file; empty: words are ids
  std::string verify;      // folder of the model that the answer is compared with; empty: it is not
};

Result<std::string> read_all(const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) return invalid("cannot read the request in '" + file + "'; check the path");
  }
  std::istream& stream = file == "-" ? std::cin : opened;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

Result<OwnedRequest> read_request(const InferArguments& arguments) {
  const auto text = read_all(arguments.file);
  if (!text) return tl::unexpected(text.error());
  auto vocabulary = arguments.vocabulary.empty() ? Result<Vocabulary>(Vocabulary::of_numbers())
                                                 : Vocabulary::from_file(arguments.vocabulary);
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  try {
    return request_from_json(nlohmann::json::parse(*text), *vocabulary);
  } catch (
      const nlohmann::json::parse_error& error) {  // "[json.exception…] parse error at line 1, column 2: …"
    const std::string_view what = error.what();
    return invalid("the request is not JSON: " +
                   std::string(what.substr(std::min(what.find(']'), what.size() - 2) + 2)));
  }
}

// What a server says is text of unknown origin: what is no UTF-8 is replaced.
void print(const InferArguments& arguments, const nlohmann::json& json) {
  std::cout << (arguments.compact ? json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                                  : in_lines(json))
            << std::endl;
}

void print_part(const InferArguments& arguments, const Reply& reply) {
  nlohmann::json part = {{"row", reply.header.index}};
  part["outputs"] = reply_to_json(reply)["outputs"];
  print(arguments, part);
}

Result<Reply> ask(const InferArguments& arguments, OwnedRequest& owned) {
  ChannelOptions options;
  options.endpoint = arguments.endpoint;
  options.default_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.timeout_s * 1e3));
  auto keys = read_keys(arguments.keys);
  if (!keys) return tl::unexpected(keys.error());
  options.keys = std::move(*keys);
  options.connect_timeout = std::min(options.connect_timeout, options.default_timeout);
  auto channel = ChannelGroup::connect(options);
  if (!channel) return tl::unexpected(channel.error());
  owned.request.header.stream = arguments.stream;
  owned.request.header.stream_from = arguments.stream_from;
  const auto id = (*channel)->send(owned.request);
  if (!id) return tl::unexpected(id.error());
  Reply answer;
  while ((*channel)->in_flight() > 0) {
    (*channel)->poll(std::chrono::seconds(1), [&](Reply&& reply) {
      if (!reply.header.final) return print_part(arguments, reply);
      answer = std::move(reply);
    });
  }
  return answer;
}

// JSON has no word for NaN and the infinities: they are printed as null.
void warn_of_null(const Reply& reply) {
  for (const WireTensor& tensor : reply.body.outputs) {
    const auto warn = [&](const auto& values) {
      if (!values ||
          std::all_of(values->begin(), values->end(), [](auto value) { return std::isfinite(value); }))
        return;
      std::fprintf(stderr,
                   "volvox infer: warning: output '%s' has a NaN or an infinity; both are printed as null\n",
                   std::string(tensor.name).c_str());
    };
    if (tensor.type == WireType::kF32) warn(tensor.values<float>());
    if (tensor.type == WireType::kF64) warn(tensor.values<double>());
  }
}

int print_answer(const InferArguments& arguments, const Result<Reply>& reply) {
  print(arguments, reply ? reply_to_json(*reply) : error_to_json(reply.error()));
  const Status ok = reply ? reply->status() : tl::unexpected(reply.error());
  if (ok) {
    warn_of_null(*reply);
    return 0;
  }
  std::fprintf(stderr, "volvox infer: %s\n", to_string(ok.error()).c_str());
  return 1;
}

// The request is the next part of the session in the file, which is gone with the last one.
Result<Reply> ask_in_session(const InferArguments& arguments, OwnedRequest& owned) {
  auto session = read_session_file(arguments.session);
  if (!session) return tl::unexpected(session.error());
  if (arguments.last && !session->token()) return invalid("no session was begun yet that could end");
  session->stamp(owned.request, arguments.last);
  auto reply = ask(arguments, owned);
  if (!reply || !session->take(*reply)) return reply;
  if (arguments.last) {
    std::error_code ignored;
    std::filesystem::remove(arguments.session, ignored);
    return reply;
  }
  if (const Status kept = write_session_file(arguments.session, *session->token()); !kept) {
    return tl::unexpected(kept.error());
  }
  return reply;
}

// Says what is wrong with the answer, by the double-precision reference.
Status verify_answer(const InferArguments& arguments, const OwnedRequest& owned, const Reply& reply) {
  auto model = load_model(arguments.verify, {.version = owned.request.header.model_version, .eager = false});
  if (!model) return tl::unexpected(model.error());
  auto verifier = ModelVerifier::make(std::move(*model));
  if (!verifier) return tl::unexpected(verifier.error());
  const auto complaint = (*verifier)->check(owned.request.body, reply.body);
  if (!complaint) return tl::unexpected(complaint.error());
  return complaint->empty() ? Status{} : fail(ErrorCode::kInternal, "the answer is wrong: " + *complaint);
}

int run_infer(InferArguments arguments) {
  auto request = read_request(arguments);
  if (!request) return print_answer(arguments, tl::unexpected(request.error()));
  std::unique_ptr<LocalServer> local;
  if (!arguments.local.empty()) {
    auto started = LocalServer::start(arguments.local, request->request.header.model_version);
    if (!started) return print_answer(arguments, tl::unexpected(started.error()));
    local = std::move(*started);
    arguments.endpoint = local->endpoint();
  }
  const bool alone = arguments.session.empty();
  const auto reply = alone ? ask(arguments, *request) : ask_in_session(arguments, *request);
  const int code = print_answer(arguments, reply);
  if (code != 0 || arguments.verify.empty()) return code;
  const Status right = verify_answer(arguments, *request, *reply);
  if (!right) std::fprintf(stderr, "volvox infer: %s\n", to_string(right.error()).c_str());
  return right ? 0 : 1;
}

}  // namespace

void add_infer_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<InferArguments>();
  CLI::App* command =
      app.add_subcommand("infer", "Sends one request, written in JSON, and prints the answer");
  add_option(*command, "request FILE", arguments->file,
             "A file with a request like {\"model\": \"lstm\", \"tokens\": [12, 7]}; '-' for standard input");
  add_option(*command, "--connect,--endpoint,--server ADDRESS", arguments->endpoint,
             "Where the server listens; several routers of a cluster with commas");
  add_key_options(*command, arguments->keys);
  add_option(*command, "--timeout SECONDS", arguments->timeout_s, "Seconds to wait for the answer")
      ->check(CLI::PositiveNumber);
  CLI::Option* stream =
      command->add_flag("--stream", arguments->stream,
                        "Print the rows of outputs that have one for every step as they are made");
  add_option(*command, "--stream-from ROW", arguments->stream_from, "The first row that is wanted")
      ->needs(stream);
  CLI::Option* session = add_option(
      *command, "--session FILE", arguments->session,
      "The request is the next part of a session, whose token this file holds; without the file it begins");
  session->excludes(stream);
  add_option(*command, "--local FOLDER", arguments->local,
             "Run the model in this folder here, on the CPU, without a server")
      ->excludes(session);
  command->add_flag("--end", arguments->last, "The session ends with this part")->needs(session);
  add_option(*command, "--vocabulary FILE", arguments->vocabulary,
             "Words of texts, trees and lattices, one a line: ids count from 0, and <unk> is any other");
  add_option(*command, "--verify FOLDER", arguments->verify,
             "Compare the answer with a double-precision reference of the model in this folder")
      ->excludes(stream)
      ->excludes(session);
  command->add_flag("--compact", arguments->compact, "Print the answer on one line");
  command->footer(help_rows("A request is a JSON object:", kRequestKeys));
  command->callback([arguments, &run] { run = [arguments] { return run_infer(*arguments); }; });
}

}  // namespace volvox
