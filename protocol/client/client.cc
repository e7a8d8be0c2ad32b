#include "protocol/client/client.h"

#include <numeric>
#include <utility>

#include "protocol/client/bundle_flights.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"

namespace volvox {
namespace {

std::vector<std::uint32_t> all_parts(std::uint32_t count) {
  std::vector<std::uint32_t> parts(count);
  std::iota(parts.begin(), parts.end(), 0U);
  return parts;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(const ClientOptions& options) {
  auto channel = ChannelGroup::connect(options.channel);
  if (!channel) return tl::unexpected<Error>(std::move(channel).error());
  std::unique_ptr<Client> client(new Client(options, std::move(*channel)));
  if (client->submissions_.fd() < 0) return fail(ErrorCode::kUnavailable, "out of file descriptors");
  client->thread_ = std::thread([self = client.get()] { self->run(); });
  return client;
}

// A cancellation takes a place in the queue, too: twice as many places as requests.
Client::Client(const ClientOptions& options, std::unique_ptr<ChannelGroup> channel)
    : options_(options),
      channel_(std::move(channel)),
      submissions_(2 * options.max_in_flight, options.max_waiting_bytes),
      stats_(channel_->stats()) {}

Client::~Client() {
  close();
}

Result<std::uint64_t> Client::submit(const ClientRequest& request, Callback done) {
  auto body = encode_request_body(request.body, options_.channel.limits);
  if (!body) return tl::unexpected<Error>(std::move(body).error());
  return push({request.header, std::move(*body), request.timeout, std::move(done), {}}, 1);
}

Result<std::uint64_t> Client::submit(const ClientBundle& bundle, BundleCallback done) {
  auto body = encode_request_bundle(bundle.body(), options_.channel.limits);
  if (!body) return tl::unexpected<Error>(std::move(body).error());
  Submission submission{bundle.counted_header(), std::move(*body), bundle.timeout, {}, std::move(done)};
  return push(std::move(submission), static_cast<std::uint32_t>(bundle.parts.size()));
}

Result<std::uint64_t> Client::push(Submission&& submission, std::uint32_t parts) {
  if (in_flight_.fetch_add(parts) + parts > options_.max_in_flight) {
    in_flight_.fetch_sub(parts);
    return fail(ErrorCode::kOverloaded,
                "max_in_flight requests wait for answers; wait for some before sending more");
  }
  const std::uint64_t id = next_id_.fetch_add(parts);
  submission.header.request_id = id;
  const std::size_t bytes = submission.body.size();
  const PushResult pushed = submissions_.push(std::move(submission), bytes);
  if (pushed == PushResult::kTaken) return id;
  in_flight_.fetch_sub(parts);
  if (pushed == PushResult::kClosed) return fail(ErrorCode::kUnavailable, "the client is closed");
  return fail(ErrorCode::kOverloaded, "too much waits to be sent; wait for some answers before sending more");
}

std::future<Reply> Client::submit(const ClientRequest& request) {
  const auto promise = std::make_shared<std::promise<Reply>>();
  auto future = promise->get_future();
  auto submitted = submit(request, [promise](Reply&& reply) {
    if (reply.header.final) promise->set_value(std::move(reply));
  });
  if (!submitted) promise->set_value(local_reply(request.header.request_id, submitted.error(), Duration{0}));
  return future;
}

void Client::cancel(std::uint64_t id) {
  Submission submission{};
  submission.header.request_id = id;
  submissions_.push(std::move(submission), 0);
}

void Client::close() {
  const std::lock_guard lock(close_mutex_);
  // In this order: the thread takes its last look only when nothing can be submitted any more.
  submissions_.close();
  closing_.store(true);
  submissions_.wake();
  if (thread_.joinable()) thread_.join();
}

ChannelStats Client::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

void Client::run() {
  const ChannelGroup::Handler handler = [this](Reply&& reply) { on_reply(std::move(reply)); };
  channel_->on_bundle([this](BundleReply&& reply) { on_bundle(std::move(reply)); });
  while (!closing_.load()) {
    send_submitted();
    const Duration timeout = submissions_.fall_asleep() ? Duration::max() : Duration{0};
    channel_->poll(timeout, handler, submissions_.fd());
    submissions_.awake();
    publish_stats();
  }
  cancel_everything();
  publish_stats();
}

void Client::send_submitted() {
  submissions_.take(batch_);
  for (Submission& submission : batch_) send(submission);
  batch_.clear();
}

void Client::send(Submission& submission) {
  const std::uint64_t id = submission.header.request_id;
  if (submission.bundle_done) return send_bundle(submission);
  if (!submission.done) {
    (void)channel_->cancel(id);  // without a connection there is nothing to stop
    return;
  }
  auto sent = channel_->send(std::move(submission.header), std::move(submission.body), submission.timeout);
  if (sent) {
    callbacks_.emplace(id, std::move(submission.done));
    return;
  }
  in_flight_.fetch_sub(1);
  submission.done(local_reply(id, std::move(sent).error(), Duration{0}));
}

void Client::send_bundle(Submission& submission) {
  const std::uint64_t id = submission.header.request_id;
  const std::uint32_t parts = submission.header.parts;
  auto sent =
      channel_->send_bundle(std::move(submission.header), std::move(submission.body), submission.timeout);
  bundles_[id] = std::move(submission.bundle_done);
  if (!sent) on_bundle(local_bundle_reply(id, all_parts(parts), sent.error(), false, Duration{0}));
}

void Client::on_bundle(BundleReply&& reply) {
  const auto found = bundles_.find(reply.first_id);
  if (found == bundles_.end()) return;
  in_flight_.fetch_sub(reply.body.done.size() + reply.body.errors.size());
  if (!reply.final) return found->second(std::move(reply));
  const BundleCallback done = std::move(found->second);
  bundles_.erase(found);
  done(std::move(reply));
}

void Client::on_reply(Reply&& reply) {
  const auto found = callbacks_.find(reply.header.request_id);
  if (found == callbacks_.end()) return;
  if (!reply.header.final) {
    found->second(std::move(reply));
    return;
  }
  const Callback done = std::move(found->second);
  callbacks_.erase(found);
  in_flight_.fetch_sub(1);
  done(std::move(reply));
}

void Client::cancel_everything() {
  const Error error{ErrorCode::kCancelled, "the client was closed before the answer came"};
  // Callbacks may still submit; the queue is closed, so that nothing new arrives.
  submissions_.take(batch_);
  for (Submission& submission : batch_) {
    const std::uint64_t id = submission.header.request_id;
    if (submission.done) callbacks_.emplace(id, std::move(submission.done));
    if (!submission.bundle_done) continue;
    bundles_.emplace(id, std::move(submission.bundle_done));
    on_bundle(local_bundle_reply(id, all_parts(submission.header.parts), error, false, Duration{0}));
  }
  batch_.clear();
  for (auto& [id, done] : std::exchange(bundles_, {})) {
    (void)channel_->cancel(id);
    BundleReply reply = local_bundle_reply(id, channel_->unanswered(id), error, true, Duration{0});
    in_flight_.fetch_sub(reply.body.errors.size());
    done(std::move(reply));
  }
  for (auto& [id, done] : std::exchange(callbacks_, {})) {
    (void)channel_->cancel(id);
    in_flight_.fetch_sub(1);
    done(local_reply(id, error, Duration{0}));
  }
}

void Client::publish_stats() {
  const std::lock_guard lock(stats_mutex_);
  stats_ = channel_->stats();
}

}  // namespace volvox
