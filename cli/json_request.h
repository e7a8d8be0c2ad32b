#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "cli/vocabulary.h"
#include "protocol/request.h"
#include "protocol/v2/structure_reader.h"

namespace volvox {

// A request with all that it refers to. May be moved, not copied.
struct OwnedRequest {
  ClientRequest request;
  std::deque<std::string> names;  // a deque keeps its elements' addresses when it moves
  std::deque<std::vector<std::byte>> tensors;
  std::deque<std::vector<std::int32_t>> ints;  // of structures that were made of text
  V2Structure structure;                       // unless it is a chain

  OwnedRequest() = default;
  OwnedRequest(OwnedRequest&&) = default;
  OwnedRequest& operator=(OwnedRequest&&) = default;
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;
};

// The keys of a request, and what each is for.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kRequestKeys{
    {{"model", "the model's name"},
     {"version", "its version; 0 or absent: the newest"},
     {"tokens", "short for an i32 input 'tokens' of one dimension"},
     {"text", "instead of tokens: words between spaces, by --vocabulary, or ids"},
     {"tree", "instead of both: a tree in brackets, \"(3 (2 It) (4 works))\", with its words"},
     {"lattice",
      "instead of all: {\"characters\": [ids] or a text, \"words\": [[first, end, id]]}; of a text without "
      "ids"},
     {"inputs",
      "by name: {\"data\": [numbers], \"shape\": [sizes], \"type\": \"f32\"}; shape and type if needed"},
     {"length", "the number of steps; by default the rows of the first input"},
     {"structure",
      "what the request unfolds into, where it is no chain: {\"tree\": {\"parents\": [2, 2, -1]}}"},
     {"outputs", "names of the wanted outputs; absent: all"},
     {"deadline_ms", "in which the answer is due; 0 or absent: whenever it is made"},
     {"priority", "high, normal or low"}}};

// A request as people write one:
//   {"model": "lstm", "tokens": [12, 7, 301]}
//   {"model": "speech", "inputs": {"frames": {"type": "f32", "shape": [2, 3], "data": [0, 1, 2, 3, 4, 5]}}}
//   {"model": "noop", "length": 5}
//   {"model": "tree", "tokens": [12, 7, 0], "structure": {"tree": {"parents": [2, 2, -1]}}}
// "tokens" is short for an i32 input of that name. A tensor's "type" is i32 unless given (f32, f64, i8 …
// u64); its "shape" one dimension unless given; "data" a list of numbers, row by row. "length" is the number
// of steps, by default the first dimension of the first input; "structure" says what the request unfolds into
// where it is no chain, as docs/protocol.md §9 writes it. Optional: "version", "outputs" (names),
// "deadline_ms", "priority" (high, normal, low). INVALID_ARGUMENT says which key is wrong; unknown keys are
// errors.
//   {"model": "lstm", "text": "It works"}
//   {"model": "tree", "tree": "(3 (2 It) (4 works))"}: "tokens" are the words' ids, and those of inner nodes
//   0 unless the vocabulary has their labels
//   {"model": "lattice", "lattice": {"characters": [4, 9, 2], "words": [[0, 2, 17]]}}: inputs "characters"
//   and "words"; where the characters are a text, ids of words may be left out
Result<OwnedRequest> request_from_json(const nlohmann::json& json, const Vocabulary& vocabulary);
Result<OwnedRequest> request_from_json(const nlohmann::json& json);

// A reply as programs read one:
//   {"outputs": {"h": {"type": "f32", "shape": [1, 2], "data": [0.25, -0.5]}}, "cells": 24,
//    "timings_ms": {"queue": 0.1, "compute": 2.5, "total": 2.7}, "server": "volvox"}
//   {"error": {"code": "INVALID_ARGUMENT", "message": "…"}}
nlohmann::json reply_to_json(const Reply& reply);
nlohmann::json error_to_json(const Error& error);

// As people read JSON: an item in a line, and a list of numbers in one. What is no UTF-8 is replaced.
std::string in_lines(const nlohmann::json& json);

}  // namespace volvox
