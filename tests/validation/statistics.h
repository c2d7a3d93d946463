#pragma once

#include <string>
#include <vector>

namespace tunefit::validation {

/// Signed relative errors of one group of rows: estimate / measured - 1.
class Errors {
 public:
  void Add(double error) { errors_.push_back(error); }
  int count() const { return static_cast<int>(errors_.size()); }
  double Bias() const;                  ///< median of the signed errors
  double Absolute(double share) const;  ///< quantile of the absolute errors, 0.5 for the median

 private:
  std::vector<double> errors_;
};

/// "0.012 %"
std::string Percent(double value);

}  // namespace tunefit::validation
