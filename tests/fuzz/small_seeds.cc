#include "tests/fuzz/small_seeds.h"

#include <cstdint>

namespace volvox::fuzz {
namespace {

using Seeds = std::vector<std::pair<const char*, std::string>>;

void add_keys(Seeds& seeds) {
  const std::string open = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";  // the pair of ZeroMQ's RFC 26
  const std::string secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
  const std::string head = "#   ****  Generated  ****\n\nmetadata\n    name = \"alice\"\ncurve\n";
  seeds.emplace_back("keys", head + "    public-key = \"" + open + "\"\n");
  seeds.emplace_back("keys",
                     head + "    public-key = \"" + open + "\"\n    secret-key = \"" + secret + "\"\n");
}

// Each frame behind its length; 255 stands for the key that is let in.
void add_questions(Seeds& seeds) {
  std::string question;
  for (const char* frame : {"1.0", "7", "volvox", "127.0.0.1", "", "CURVE"}) {
    const std::string text = frame;
    question.append(1, static_cast<char>(text.size())).append(text);
  }
  seeds.emplace_back("zap", question + '\xff');
  seeds.emplace_back("zap", question + std::string(1, 32) + std::string(32, 'x'));
}

void add_commands(Seeds& seeds) {
  for (const char* line : {R"({"command": "status"})", R"({"command": "log.level", "level": "debug"})",
                           R"({"command": "models.load", "model": "größer", "version": 2})",
                           R"({"command": "drain", "node": "n0"})",
                           R"({"command": "models.list", "more": [1, 2.5, null, {}]})"}) {
    seeds.emplace_back("admin", line);
  }
}

// Seven characters, and words of two, of three, and up to the last one.
void add_lattices(Seeds& seeds) {
  std::string lattice;
  for (const char number : {7, 0, 2, 1, 4, 2, 4, 0, 7}) lattice.append({number, '\0'});
  seeds.emplace_back("lattice", lattice);
}

// Any bytes are a history; these are long, and begin sessions before anything else.
void add_histories(Seeds& seeds) {
  for (std::uint32_t chance = 1; chance <= 4; ++chance) {
    std::string history(9, static_cast<char>(3));
    std::uint32_t state = chance;
    for (int i = 0; i < 2000; ++i) {
      state = state * 1664525 + 1013904223;
      history.push_back(static_cast<char>(state >> 24));
    }
    seeds.emplace_back("sessions", history);
  }
}

void put(std::string& bytes, std::uint32_t number, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

void add_chunk(std::string& bytes, const char* name, const std::string& content) {
  bytes += name;
  put(bytes, static_cast<std::uint32_t>(content.size()), 4);
  bytes += content;
}

// Plain PCM, and an extensible format after a chunk that is passed over.
void add_waves(Seeds& seeds) {
  for (const bool extensible : {false, true}) {
    std::string format;
    const std::uint32_t numbers[][2] = {
        {extensible ? 0xfffeU : 1U, 2}, {1, 2}, {16000, 4}, {32000, 4}, {2, 2}, {16, 2}};
    for (const auto& [number, width] : numbers) put(format, number, static_cast<int>(width));
    if (extensible) format += std::string(8, '\0') + '\1' + std::string(15, '\0');
    std::string body = "WAVE";
    if (extensible) add_chunk(body, "LIST", "more");
    add_chunk(body, "fmt ", format);
    add_chunk(body, "data", "some samples");
    std::string wave;
    add_chunk(wave, "RIFF", body);
    seeds.emplace_back("wave", wave);
  }
}

}  // namespace

std::vector<std::pair<const char*, std::string>> small_seeds() {
  Seeds seeds;
  add_keys(seeds);
  add_questions(seeds);
  add_commands(seeds);
  add_lattices(seeds);
  add_histories(seeds);
  add_waves(seeds);
  return seeds;
}

}  // namespace volvox::fuzz
