#pragma once

#include <string>

namespace tailrace::grid {

/// A stretched coordinate y(s), 0 <= s <= 1, of which the derivative ds/dy is a short sum of cosines, so that a
/// spectral solver stays exact (Cain, Ferziger and Reynolds 1984; Laizet and Lamballais 2009, section 4.2; Xcompact3D's
/// istret 1, 2 and 3).
struct Stretching {
  enum class Where { centre, walls, bottom }; ///< where nodes are close together
  Where where;
  double beta; ///< the smaller, the closer

  /// Throws InputError unless beta is positive and finite.
  Stretching(Where where, double beta);

  /// The coordinate of s in a direction of this length; 0 and the length at the ends.
  double coordinate(double s, double length) const;
  /// dY/dy, with the uniform coordinate Y = length * s.
  double metric(double s, double length) const;
  /// -d(metric)/dY: the factor of the first derivative in  d2/dy2 = metric^2 d2/dY2 - curvature metric d/dY.
  double curvature(double s, double length) const;
  /// metric = length * (mean + 2 wave cos(waves pi s)).
  struct Cosines {
    double mean, wave;
    int waves;
  };
  Cosines cosines(double length) const;

private:
  double eta(double s) const;
  double alpha(double length) const;
};

/// From "centre", "walls" or "bottom"; throws InputError for any other name.
Stretching::Where stretching_from_name(const std::string &name);
const char *stretching_name(Stretching::Where where);

} // namespace tailrace::grid
