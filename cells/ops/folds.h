#pragma once

namespace volvox {

// What several elements become, for operators that fold (reduce.h, pool.h): from the first, one after the
// other, in their order.

struct SumFold {
  template <class Real>
  static Real first(Real x) {
    return x;
  }
  template <class Real>
  static Real next(Real so_far, Real x) {
    return so_far + x;
  }
  template <class Real>
  static Real last(Real so_far, Real) {
    return so_far;
  }
};

struct MeanFold : SumFold {
  template <class Real>
  static Real last(Real so_far, Real count) {
    return so_far / count;
  }
};

struct LargestFold {
  template <class Real>
  static Real first(Real x) {
    return x;
  }
  template <class Real>
  static Real next(Real so_far, Real x) {
    return x > so_far || x != x ? x : so_far;
  }
  template <class Real>
  static Real last(Real so_far, Real) {
    return so_far;
  }
};

}  // namespace volvox
