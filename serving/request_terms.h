#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "config/schema.h"

namespace volvox {

// How long a request may take, and how urgent it is.
struct RequestTerms {
  std::uint64_t deadline_us = 0;  // from its arrival; 0: none
  PriorityChoice priority = PriorityChoice::kNormal;

  bool operator==(const RequestTerms&) const = default;
};

// What becomes of the terms that a client asks for, by the table of its model among `models`: the model's own
// deadline where it asks for none, at most its longest one, and its priority where the client wants the
// normal one. Without a table they stay. Pure; any thread.
RequestTerms terms_of(std::span<const ModelSection> models, std::string_view model, RequestTerms asked);

}  // namespace volvox
