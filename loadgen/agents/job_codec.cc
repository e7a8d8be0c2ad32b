#include "loadgen/agents/job_codec.h"

#include <cmath>

#include "loadgen/agents/shapes_codec.h"
#include "protocol/codec/capnp_message.h"

namespace volvox {
namespace {

constexpr std::size_t kPartWords = 14, kClassWords = 36;
constexpr std::size_t kMaxEndpointBytes = 4096, kMaxParts = 256;
// As in a model's definition.
constexpr std::size_t kMaxRowAxes = 4;
constexpr std::uint64_t kMaxRowElements = std::uint64_t{1} << 24;

void write(const RequestClass& one, wire::LoadClass::Builder builder) {
  const RequestTemplate& common = one.common;
  put_text(common.model, [&](unsigned size) { return builder.initModel(size); });
  builder.setModelVersion(common.model_version);
  put_text(common.input, [&](unsigned size) { return builder.initInput(size); });
  builder.setWeight(one.weight);
  builder.setHigh(common.priorities.high);
  builder.setNormal(common.priorities.normal);
  builder.setLow(common.priorities.low);
  builder.setDeadline(common.deadline.count());
  builder.setCancelFraction(common.cancel_fraction);
  builder.setCancelAfter(common.cancel_after.count());
  builder.setSeed(one.source.seed());
  builder.setVocabulary(one.source.vocabulary());
  auto more = builder.initMore(static_cast<unsigned>(one.source.more().size()));
  for (unsigned i = 0; i < more.size(); ++i) more.set(i, one.source.more()[i]);
  auto row_shape = builder.initRowShape(static_cast<unsigned>(one.source.row_shape().size()));
  for (unsigned i = 0; i < row_shape.size(); ++i) row_shape.set(i, one.source.row_shape()[i]);
  write_shapes(one.source.shapes(), builder.getShapes());
}

Result<PriorityMix> read_priorities(wire::LoadClass::Reader reader) {
  const PriorityMix mix{reader.getHigh(), reader.getNormal(), reader.getLow()};
  const auto is_weight = [](double weight) { return std::isfinite(weight) && weight >= 0; };
  if (!is_weight(mix.high) || !is_weight(mix.normal) || !is_weight(mix.low) ||
      !(mix.high + mix.normal + mix.low > 0))
    return invalid("no priority class has a weight above 0");
  return mix;
}

Status check_inputs(std::string_view inputs, const WireLimits& limits) {
  std::size_t count = 0;
  while (!inputs.empty()) {
    const std::size_t comma = std::min(inputs.find(','), inputs.size());
    if (Status ok = check_name("input", inputs.substr(0, comma), limits); !ok) return ok;
    if (++count > limits.max_tensors) return invalid("a model cannot have so many inputs");
    inputs.remove_prefix(std::min(comma + 1, inputs.size()));
  }
  return {};
}

// Empty where rows are of token ids.
Result<std::vector<std::uint32_t>> read_row_shape(wire::LoadClass::Reader reader) {
  std::vector<std::uint32_t> shape;
  std::uint64_t elements = 1;
  for (const std::uint32_t extent : reader.getRowShape()) {
    elements *= extent;
    if (elements == 0 || elements > kMaxRowElements || shape.size() == kMaxRowAxes)
      return invalid("a row of numbers has at most " + std::to_string(kMaxRowAxes) + " extents, and " +
                     std::to_string(kMaxRowElements) + " elements");
    shape.push_back(extent);
  }
  return shape;
}

Result<RequestSource> read_source(wire::LoadClass::Reader reader, const WireLimits& limits) {
  auto shapes = read_shapes(reader.getShapes(), limits);
  if (!shapes) return tl::unexpected(shapes.error());
  std::vector<std::uint32_t> more;
  for (const std::uint32_t vocabulary : reader.getMore()) {
    if (vocabulary == 0 || more.size() == limits.max_tensors) return invalid("a vocabulary is not empty");
    more.push_back(vocabulary);
  }
  if (reader.getVocabulary() == 0) return invalid("a vocabulary is not empty");
  auto row_shape = read_row_shape(reader);
  if (!row_shape) return tl::unexpected(row_shape.error());
  return RequestSource(reader.getSeed(), std::move(*shapes), reader.getVocabulary(), std::move(more),
                       std::move(*row_shape));
}

Result<RequestClass> read(wire::LoadClass::Reader reader, const WireLimits& limits) {
  if (Status ok = check_given_name("model", view_of(reader.getModel()), limits); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = check_inputs(view_of(reader.getInput()), limits); !ok) return tl::unexpected(ok.error());
  auto priorities = read_priorities(reader);
  if (!priorities) return tl::unexpected(priorities.error());
  if (!is_span(reader.getDeadline()) || !is_span(reader.getCancelAfter()))
    return invalid("a class of requests has a time that is no span");
  auto source = read_source(reader, limits);
  if (!source) return tl::unexpected(source.error());
  RequestTemplate common{.model = std::string(view_of(reader.getModel())),
                         .model_version = reader.getModelVersion(),
                         .input = std::string(view_of(reader.getInput())),
                         .priorities = *priorities,
                         .deadline = Duration(reader.getDeadline()),
                         .cancel_fraction = reader.getCancelFraction(),
                         .cancel_after = Duration(reader.getCancelAfter())};
  return RequestClass{std::move(common), std::move(*source), reader.getWeight()};
}

void write(const ConnectionPlan& part, wire::LoadPart::Builder builder) {
  builder.setArrivals(static_cast<std::uint8_t>(part.arrivals));
  builder.setRate(part.rate);
  builder.setFirst(part.first.count());
  builder.setConcurrency(part.concurrency);
  builder.setFirstIndex(part.first_index);
  builder.setIndexStep(part.index_step);
  builder.setSeed(part.seed);
  builder.setWarmup(part.warmup.count());
  builder.setMeasured(part.measured.count());
  builder.setRequests(part.requests);
  builder.setTimeout(part.timeout.count());
  builder.setSamples(part.samples);
  builder.setTimeline(part.timeline);
}

Result<ConnectionPlan> read(wire::LoadPart::Reader reader) {
  for (const std::int64_t span :
       {reader.getFirst(), reader.getWarmup(), reader.getMeasured(), reader.getTimeout()}) {
    if (!is_span(span)) return invalid("a part of the load has a time that is no span");
  }
  if (reader.getArrivals() > static_cast<std::uint8_t>(Arrivals::kTrace))
    return invalid("requests are to come in a way that this program does not know");
  ConnectionPlan part;
  part.arrivals = static_cast<Arrivals>(reader.getArrivals());
  part.rate = reader.getRate();
  part.first = Duration(reader.getFirst());
  part.concurrency = reader.getConcurrency();
  part.first_index = reader.getFirstIndex();
  part.index_step = reader.getIndexStep();
  part.seed = reader.getSeed();
  part.warmup = Duration(reader.getWarmup());
  part.measured = Duration(reader.getMeasured());
  part.requests = reader.getRequests();
  part.timeout = Duration(reader.getTimeout());
  part.samples = reader.getSamples();
  part.timeline = reader.getTimeline();
  return part;
}

void write(const RateCurve& curve, wire::LoadJob::Builder builder) {
  auto points = builder.initCurve(static_cast<unsigned>(curve.points().size()));
  for (unsigned i = 0; i < points.size(); ++i) {
    points[i].setAt(curve.points()[i].at_s);
    points[i].setRate(curve.points()[i].rate);
  }
}

// Null where there is none.
Result<std::shared_ptr<const RateCurve>> read_curve(wire::LoadJob::Reader reader) {
  if (reader.getCurve().size() == 0) return nullptr;
  std::vector<RatePoint> points;
  if (reader.getCurve().size() > RateCurve::kMostPoints) return invalid("a curve has too many points");
  for (const auto point : reader.getCurve()) points.push_back({point.getAt(), point.getRate()});
  auto curve = RateCurve::make(std::move(points));
  if (!curve) return tl::unexpected(curve.error());
  return std::make_shared<const RateCurve>(std::move(*curve));
}

void write(const Trace& trace, wire::LoadJob::Builder builder) {
  auto entries = builder.initTrace(static_cast<unsigned>(trace.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    entries[i].setAt(trace[i].at.count());
    entries[i].setOfClass(trace[i].of_class);
    entries[i].setSize(trace[i].size);
  }
}

// Null where there is none; what it says, check_mix() judges.
std::shared_ptr<const Trace> read_trace(wire::LoadJob::Reader reader) {
  if (reader.getTrace().size() == 0) return nullptr;
  auto trace = std::make_shared<Trace>();
  for (const auto entry : reader.getTrace())
    trace->push_back({Duration(entry.getAt()), entry.getOfClass(), entry.getSize()});
  return trace;
}

}  // namespace

std::size_t job_words(const LoadJob& job) {
  std::size_t words = 16 + text_words(job.endpoint) + kPartWords * job.parts.size();
  if (job.mix.trace()) words += 2 * job.mix.trace()->size();
  if (!job.parts.empty() && job.parts.front().curve) words += 2 * job.parts.front().curve->points().size();
  for (const RequestClass& one : job.mix.classes()) {
    words += kClassWords + text_words(one.common.model) + text_words(one.common.input) +
             one.source.more().size() + shapes_words(one.source.shapes());
  }
  return words;
}

void write_job(const LoadJob& job, wire::LoadJob::Builder builder) {
  put_text(job.endpoint, [&](unsigned size) { return builder.initEndpoint(size); });
  builder.setSeed(job.mix.seed());
  auto classes = builder.initClasses(static_cast<unsigned>(job.mix.classes().size()));
  for (unsigned i = 0; i < classes.size(); ++i) write(job.mix.classes()[i], classes[i]);
  auto parts = builder.initParts(static_cast<unsigned>(job.parts.size()));
  for (unsigned i = 0; i < parts.size(); ++i) write(job.parts[i], parts[i]);
  if (!job.parts.empty() && job.parts.front().curve) write(*job.parts.front().curve, builder);
  if (job.mix.trace()) write(*job.mix.trace(), builder);
}

Result<LoadMessage> read_job(wire::LoadJob::Reader reader, const WireLimits& limits) {
  const std::string_view endpoint = view_of(reader.getEndpoint());
  WireLimits of_endpoint = limits;
  of_endpoint.max_name_bytes = kMaxEndpointBytes;
  if (Status ok = check_given_name("endpoint", endpoint, of_endpoint); !ok) return tl::unexpected(ok.error());
  if (reader.getClasses().size() > kMostClasses || reader.getParts().size() > kMaxParts)
    return invalid("a job has at most " + std::to_string(kMostClasses) + " classes of requests and " +
                   std::to_string(kMaxParts) + " connections");
  std::vector<RequestClass> classes;
  for (const auto one : reader.getClasses()) {
    auto made = read(one, limits);
    if (!made) return tl::unexpected(made.error());
    classes.push_back(std::move(*made));
  }
  LoadJob job{std::string(endpoint), RequestMix(reader.getSeed(), std::move(classes), read_trace(reader))};
  if (Status ok = check_mix(job.mix); !ok) return tl::unexpected(ok.error());
  auto curve = read_curve(reader);
  if (!curve) return tl::unexpected(curve.error());
  for (const auto part : reader.getParts()) {
    auto made = read(part);
    if (!made) return tl::unexpected(made.error());
    made->curve = *curve;
    if (made->arrivals == Arrivals::kTrace && !job.mix.trace()) return invalid("a trace has no entries");
    job.parts.push_back(std::move(*made));
  }
  if (Status ok = check_parts(job.parts); !ok) return tl::unexpected(ok.error());
  return job;
}

}  // namespace volvox
