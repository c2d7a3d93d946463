#pragma once

namespace tunefit {

// The C libraries round the last bit of these differently, and an answer must not depend on the machine: here they are
// made of operations that IEEE 754 rounds exactly. Right to a few units in the last place.

/// 1 - exp(-x), for x of 0 and over: what has decayed after x mean lives.
double DecayedShare(double x);

/// The natural logarithm, of x over 0.
double NaturalLog(double x);

}  // namespace tunefit
