#include "loadgen/agents/load_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "loadgen/agents/job_codec.h"
#include "protocol/codec/capnp_message.h"
#include "protocol/codec/codec.h"
#include "protocol/load.capnp.h"
#include "protocol/text.h"

namespace volvox {
namespace {

constexpr std::string_view kHeader = "load header", kWhat = "load message";
constexpr std::size_t kMaxCounts = 64;  // names that outcomes have
constexpr std::size_t kMaxNameBytes = 64;

constexpr std::array kHistograms = {&LoadTally::latency, &LoadTally::queue,       &LoadTally::compute,
                                    &LoadTally::refused, &LoadTally::retry_after, &LoadTally::late};
constexpr std::array kNumbers = {
    std::pair(&LoadTally::offered, &wire::LoadTally::Builder::setOffered),
    std::pair(&LoadTally::completed, &wire::LoadTally::Builder::setCompleted),
    std::pair(&LoadTally::on_time, &wire::LoadTally::Builder::setOnTime),
    std::pair(&LoadTally::duplicates, &wire::LoadTally::Builder::setDuplicates),
    std::pair(&LoadTally::resent, &wire::LoadTally::Builder::setResent),
    std::pair(&LoadTally::late_answers, &wire::LoadTally::Builder::setLateAnswers),
    std::pair(&LoadTally::warmup_offered, &wire::LoadTally::Builder::setWarmupOffered),
    std::pair(&LoadTally::warmup_completed, &wire::LoadTally::Builder::setWarmupCompleted)};

template <class List, class Counts>
void write_counts(const Counts& counts, List list) {
  unsigned i = 0;
  for (const auto& [name, count] : counts) {
    put_text(name, [&](unsigned size) { return list[i].initName(size); });
    list[i++].setCount(count);
  }
}

void write(const DurationHistogram& histogram, wire::LoadHistogram::Builder builder) {
  const HistogramImage image = histogram.image();
  auto buckets = builder.initBuckets(static_cast<unsigned>(image.buckets.size()));
  auto counts = builder.initCounts(static_cast<unsigned>(image.counts.size()));
  for (unsigned i = 0; i < buckets.size(); ++i) {
    buckets.set(i, image.buckets[i]);
    counts.set(i, image.counts[i]);
  }
  builder.setMax(image.max_ns);
}

void write(const LoadTally& tally, wire::LoadTally::Builder builder) {
  for (const auto& [field, set] : kNumbers) (builder.*set)(tally.*field);
  write_counts(tally.errors, builder.initErrors(static_cast<unsigned>(tally.errors.size())));
  write_counts(tally.outcomes, builder.initOutcomes(static_cast<unsigned>(tally.outcomes.size())));
  auto examples = builder.initExamples(static_cast<unsigned>(tally.first_error.size()));
  unsigned i = 0;
  for (const auto& [name, message] : tally.first_error) {
    put_text(name, [&](unsigned size) { return examples[i].initName(size); });
    const std::string clean = cleaned_text(message, kMaxErrorTextBytes);
    put_text(clean, [&](unsigned size) { return examples[i].initMessage(size); });
    ++i;
  }
  auto histograms = builder.initHistograms(static_cast<unsigned>(kHistograms.size()));
  for (unsigned k = 0; k < kHistograms.size(); ++k) write(tally.*kHistograms[k], histograms[k]);
  auto gaps = builder.initGaps();
  const SendGaps::Sums& sums = tally.gaps.sums();
  gaps.setCount(tally.gaps.count());
  gaps.setPlanned(sums.planned_us);
  gaps.setPlannedSquares(sums.planned_us2);
  gaps.setSent(sums.sent_us);
  gaps.setSentSquares(sums.sent_us2);
}

// How each kind is written; an error past the limits.
struct Writer {
  wire::LoadMessage::Builder root;

  Status operator()(const LoadUnknown&) { return {}; }
  Status operator()(const ClockQuestion& question) {
    root.initQuestion().setAsked(question.asked);
    return {};
  }
  Status operator()(const ClockAnswer& answer) {
    auto builder = root.initClock();
    builder.setAsked(answer.asked);
    builder.setReceived(answer.received);
    builder.setAnswered(answer.answered);
    return {};
  }
  Status operator()(const LoadJob& job) {
    write_job(job, root.initJob());
    return {};
  }
  Status operator()(const JobReady&) {
    root.setReady();
    return {};
  }
  Status operator()(const JobRefused& refused) {
    auto builder = root.initRefused();
    builder.setErrorCode(static_cast<std::uint16_t>(refused.why.code));
    const std::string clean = cleaned_text(refused.why.message, kMaxErrorTextBytes);
    put_text(clean, [&](unsigned size) { return builder.initMessage(size); });
    return {};
  }
  Status operator()(const JobStart& start) {
    root.initStart().setAt(start.at);
    return {};
  }
  Status operator()(const JobStop&) {
    root.setStop();
    return {};
  }
  Status operator()(const JobState& state) {
    auto builder = root.initState();
    builder.setOffered(state.offered);
    builder.setCompleted(state.completed);
    builder.setFailed(state.failed);
    builder.setLatency(state.latency_ns);
    builder.setWorstLate(state.worst_late_ns);
    return {};
  }
  Status operator()(const JobRecords& records) {
    auto builder = root.initRecords();
    auto samples = builder.initSamples(static_cast<unsigned>(records.samples.size()));
    for (unsigned i = 0; i < samples.size(); ++i) {
      samples[i].setIndex(records.samples[i].index);
      const auto body = encode_reply_body(records.samples[i].body.outputs, load_limits());
      if (!body) return tl::unexpected(body.error());
      samples[i].setBody(kj::arrayPtr(reinterpret_cast<const kj::byte*>(body->data()), body->size()));
    }
    write_entries(records.timeline, builder);
    return {};
  }
  Status operator()(const JobResult& result) {
    auto builder = root.initResult();
    auto by_class = builder.initByClass(static_cast<unsigned>(result.outcome.by_class.size()));
    for (unsigned i = 0; i < by_class.size(); ++i) write(result.outcome.by_class[i], by_class[i]);
    write(result.outcome.apart, builder.initApart());
    builder.setSeconds(result.outcome.seconds);
    const std::string clean = cleaned_text(result.cut, kMaxErrorTextBytes);
    put_text(clean, [&](unsigned size) { return builder.initCut(size); });
    return {};
  }

  static void write_entries(const Timeline& timeline, wire::LoadRecords::Builder builder) {
    std::map<std::string, std::uint16_t> numbers;
    auto entries = builder.initEntries(static_cast<unsigned>(timeline.size()));
    for (unsigned i = 0; i < entries.size(); ++i) {
      entries[i].setScheduled(timeline[i].scheduled.time_since_epoch().count());
      entries[i].setTook(timeline[i].took.count());
      const auto next = static_cast<std::uint16_t>(numbers.size());
      entries[i].setOutcome(numbers.try_emplace(timeline[i].outcome, next).first->second);
    }
    auto names = builder.initNames(static_cast<unsigned>(numbers.size()));
    for (const auto& [name, number] : numbers) names.set(number, name.c_str());
  }
};

std::size_t tally_words(const LoadTally& tally) {
  std::size_t words = 80 + 16 * (tally.errors.size() + tally.outcomes.size() + tally.first_error.size());
  for (const auto& [name, message] : tally.first_error) words += text_words(message);
  for (const auto& histogram : kHistograms) words += 8 + 2 * (tally.*histogram).image().buckets.size();
  return words;
}

std::size_t words_of(const LoadMessage& message) {
  if (const auto* job = std::get_if<LoadJob>(&message)) return 16 + job_words(*job);
  if (const auto* records = std::get_if<JobRecords>(&message)) {
    std::size_t words = 64 + 4 * records->timeline.size();
    for (const AnswerSample& sample : records->samples)
      words += 16 + (sample.body.storage ? data_words(sample.body.storage->size()) : 64);
    return words;
  }
  if (const auto* result = std::get_if<JobResult>(&message)) {
    std::size_t words = 32 + tally_words(result->outcome.apart) + text_words(result->cut);
    for (const LoadTally& tally : result->outcome.by_class) words += tally_words(tally);
    return words;
  }
  return 32 + kMaxErrorTextBytes / sizeof(capnp::word);
}

Result<std::string> read_name(capnp::Text::Reader text) {
  WireLimits limits = load_limits();
  limits.max_name_bytes = kMaxNameBytes;
  if (Status ok = check_given_name("outcome", view_of(text), limits); !ok) return tl::unexpected(ok.error());
  return std::string(view_of(text));
}

std::string read_text(capnp::Text::Reader text) {
  return cleaned_text(view_of(text), kMaxErrorTextBytes);
}

Status read_counts(capnp::List<wire::LoadCount>::Reader list, std::map<std::string, std::uint64_t>& counts) {
  if (list.size() > kMaxCounts) return invalid("requests cannot end in so many ways");
  for (const auto one : list) {
    auto name = read_name(one.getName());
    if (!name) return tl::unexpected(name.error());
    counts[*name] += one.getCount();
  }
  return {};
}

Result<DurationHistogram> read(wire::LoadHistogram::Reader reader) {
  HistogramImage image{.max_ns = reader.getMax()};
  for (const std::uint32_t bucket : reader.getBuckets()) image.buckets.push_back(bucket);
  for (const std::uint64_t count : reader.getCounts()) image.counts.push_back(count);
  return DurationHistogram::from_image(image);
}

void read_numbers(wire::LoadTally::Reader reader, LoadTally& tally) {
  tally.offered = reader.getOffered();
  tally.completed = reader.getCompleted();
  tally.on_time = reader.getOnTime();
  tally.duplicates = reader.getDuplicates();
  tally.resent = reader.getResent();
  tally.late_answers = reader.getLateAnswers();
  tally.warmup_offered = reader.getWarmupOffered();
  tally.warmup_completed = reader.getWarmupCompleted();
}

Result<SendGaps> read(wire::LoadGaps::Reader reader) {
  const SendGaps::Sums sums{reader.getPlanned(), reader.getPlannedSquares(), reader.getSent(),
                            reader.getSentSquares()};
  for (const double sum : {sums.planned_us, sums.planned_us2, sums.sent_us, sums.sent_us2}) {
    if (!std::isfinite(sum)) return invalid("gaps are numbers");
  }
  return SendGaps(reader.getCount(), sums);
}

Result<LoadTally> read(wire::LoadTally::Reader reader) {
  LoadTally tally;
  read_numbers(reader, tally);
  if (Status ok = read_counts(reader.getErrors(), tally.errors); !ok) return tl::unexpected(ok.error());
  if (Status ok = read_counts(reader.getOutcomes(), tally.outcomes); !ok) return tl::unexpected(ok.error());
  if (reader.getExamples().size() > kMaxCounts) return invalid("requests cannot end in so many ways");
  for (const auto example : reader.getExamples()) {
    auto name = read_name(example.getName());
    if (!name) return tl::unexpected(name.error());
    tally.first_error.emplace(std::move(*name), read_text(example.getMessage()));
  }
  const auto histograms = reader.getHistograms();
  if (histograms.size() < kHistograms.size()) return invalid("a tally lacks histograms");
  for (unsigned i = 0; i < kHistograms.size(); ++i) {
    auto histogram = read(histograms[i]);
    if (!histogram) return tl::unexpected(histogram.error());
    tally.*kHistograms[i] = std::move(*histogram);
  }
  auto gaps = read(reader.getGaps());
  if (!gaps) return tl::unexpected(gaps.error());
  tally.gaps = *gaps;
  return tally;
}

Result<LoadMessage> read(wire::LoadResult::Reader reader) {
  JobResult result;
  // A few bytes can say a histogram of many buckets, so what is not bounded here would fill the memory.
  if (reader.getByClass().size() > kMostClasses)
    return invalid("a load has no more than " + std::to_string(kMostClasses) + " classes of requests");
  for (const auto of_class : reader.getByClass()) {
    auto tally = read(of_class);
    if (!tally) return tl::unexpected(tally.error());
    result.outcome.by_class.push_back(std::move(*tally));
  }
  auto apart = read(reader.getApart());
  if (!apart) return tl::unexpected(apart.error());
  result.outcome.apart = std::move(*apart);
  result.outcome.seconds = reader.getSeconds();
  if (!std::isfinite(result.outcome.seconds) || result.outcome.seconds < 0)
    return invalid("a load takes a time");
  result.cut = read_text(reader.getCut());
  return result;
}

Result<LoadMessage> read(wire::LoadRecords::Reader reader) {
  JobRecords records;
  for (const auto sample : reader.getSamples()) {
    const auto bytes = sample.getBody().asBytes();
    auto body =
        decode_reply_body({reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()}, load_limits());
    if (!body) return tl::unexpected(body.error());
    records.samples.push_back({sample.getIndex(), std::move(*body)});
  }
  if (reader.getNames().size() > kMaxCounts) return invalid("requests cannot end in so many ways");
  std::vector<std::string> names;
  for (const auto text : reader.getNames()) {
    auto name = read_name(text);
    if (!name) return tl::unexpected(name.error());
    names.push_back(std::move(*name));
  }
  for (const auto entry : reader.getEntries()) {
    if (entry.getOutcome() >= names.size()) return invalid("an entry's outcome has no name");
    if (!is_span(entry.getScheduled())) return invalid("an entry's time is no span");
    records.timeline.push_back(
        {TimePoint(Duration(entry.getScheduled())), Duration(entry.getTook()), names[entry.getOutcome()]});
  }
  return records;
}

JobRefused read(wire::LoadRefusal::Reader reader) {
  const auto code = reader.getErrorCode();
  const bool known = code >= static_cast<std::uint16_t>(ErrorCode::kInvalidArgument) &&
                     code <= static_cast<std::uint16_t>(ErrorCode::kInternal);
  return {{known ? static_cast<ErrorCode>(code) : ErrorCode::kInternal, read_text(reader.getMessage())}};
}

Result<LoadMessage> read(wire::LoadMessage::Reader reader) {
  switch (reader.which()) {
    case wire::LoadMessage::QUESTION:
      return ClockQuestion{reader.getQuestion().getAsked()};
    case wire::LoadMessage::CLOCK: {
      const auto clock = reader.getClock();
      return ClockAnswer{clock.getAsked(), clock.getReceived(), clock.getAnswered()};
    }
    case wire::LoadMessage::JOB:
      return read_job(reader.getJob(), load_limits());
    case wire::LoadMessage::READY:
      return JobReady{};
    case wire::LoadMessage::REFUSED:
      return read(reader.getRefused());
    case wire::LoadMessage::START:
      return JobStart{reader.getStart().getAt()};
    case wire::LoadMessage::STOP:
      return JobStop{};
    case wire::LoadMessage::STATE: {
      const auto state = reader.getState();
      return JobState{state.getOffered(), state.getCompleted(), state.getFailed(), state.getLatency(),
                      state.getWorstLate()};
    }
    case wire::LoadMessage::RECORDS:
      return read(reader.getRecords());
    case wire::LoadMessage::RESULT:
      return read(reader.getResult());
    case wire::LoadMessage::UNKNOWN:
      break;
  }
  return LoadUnknown{};
}

}  // namespace

WireLimits load_limits() {
  WireLimits limits;
  limits.max_body_bytes = std::size_t{64} << 20;
  limits.traversal_words = std::uint64_t{1} << 24;
  return limits;
}

WireBuffer encode_load_header(std::uint64_t run) {
  MessageWriter writer(8);
  auto header = writer.initRoot<wire::LoadHeader>();
  header.setProtocolVersion(kLoadProtocolVersion);
  header.setRun(run);
  return writer.finish();
}

Result<std::uint64_t> decode_load_header(std::span<const std::byte> bytes) {
  const WireLimits limits = load_limits();
  if (bytes.size() > limits.max_header_bytes) return invalid("the header of a load message is too long");
  const WireBuffer aligned = WireBuffer::copy_of(bytes);
  return read_message<wire::LoadHeader>(
      kHeader, aligned.bytes(), limits, [](wire::LoadHeader::Reader header) -> Result<std::uint64_t> {
        if (header.getProtocolVersion() == kLoadProtocolVersion) return header.getRun();
        return fail(ErrorCode::kUnsupportedVersion,
                    "version " + std::to_string(header.getProtocolVersion()) +
                        " of the agents' protocol came, and version " + std::to_string(kLoadProtocolVersion) +
                        " is spoken here; install the same Volvox on all machines of a load");
      });
}

Result<WireBuffer> encode_load_message(const LoadMessage& message) {
  return caught(kWhat, [&]() -> Result<WireBuffer> {
    MessageWriter writer(words_of(message));
    if (Status ok = std::visit(Writer{writer.initRoot<wire::LoadMessage>()}, message); !ok)
      return tl::unexpected(ok.error());
    WireBuffer bytes = writer.finish();
    if (bytes.size() > load_limits().max_body_bytes)
      return invalid("a message of " + std::to_string(bytes.size() >> 20) +
                     " MiB is too long; the limit is " + std::to_string(load_limits().max_body_bytes >> 20) +
                     " MiB: take fewer lengths, trees or lattices");
    return bytes;
  });
}

Result<LoadMessage> decode_load_message(std::span<const std::byte> bytes) {
  const WireLimits limits = load_limits();
  if (bytes.size() > limits.max_body_bytes) return invalid("a load message is too long");
  const WireBuffer aligned = WireBuffer::copy_of(bytes);
  return read_message<wire::LoadMessage>(
      kWhat, aligned.bytes(), limits,
      [](wire::LoadMessage::Reader reader) -> Result<LoadMessage> { return read(reader); });
}

}  // namespace volvox
