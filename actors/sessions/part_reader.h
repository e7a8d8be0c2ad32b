#pragma once

#include <utility>

#include "actors/node/job_maker.h"
#include "actors/node/node.h"
#include "actors/work/work.h"

namespace volvox {

// What a part of a session says is read and checked before its session is looked at: by whoever keeps the
// session, or on the way to it, where that takes long. Any thread; a work by one at a time.
class PartReader {
 public:
  explicit PartReader(NodePtr node) : node_(node), jobs_(std::move(node)) {}

  // As a part for this model; null: there is none. Fills Work::checked of one that can run.
  ReadPart read(const ModelPtr& model, Work& work) const;
  // The same for the model that the token or the header names now, in Work::read. Of a part of a bundle that
  // stands alone nothing is read. Where there is no memory
  // for that nothing is filled, and the keeper tries it again.
  void read_ahead(Work& work) const;

 private:
  const NodePtr node_;
  const JobMaker jobs_;
};

}  // namespace volvox
