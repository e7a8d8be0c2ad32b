#include "actors/node/offered_models.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(OfferedModels, ARequestIsBelievedWithinWhatIsPossible) {
  Offered offer;
  offer.cells = 7;
  offer.max_cells = 100;
  EXPECT_EQ(offer.believed(3), 3);
  EXPECT_EQ(offer.believed(UINT32_MAX), 100);
  EXPECT_EQ(offer.believed(0), 7) << "it says nothing: it is as others were";
}

}  // namespace
}  // namespace volvox
