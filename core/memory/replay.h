#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/step.h"

namespace tunefit {

/// Bytes as CUDA's caching allocator hands them out: whole multiples of 512.
double RoundToGranule(double bytes);

/// Bytes of one storage for given axes, rounded.
double StorageBytes(const Storage& storage, const Axes& axes);

/// Bytes of storages that live through the whole step, each as often as the model has it, rounded one by one.
double SumResidents(const Step& step, const std::vector<Resident>& residents, const Axes& axes);

/// Where in the trace the most bytes are alive: after this many events, in this repetition of their section.
struct PeakPoint {
  double bytes = 0;
  std::int32_t events = 0;    ///< events replayed, counted from the first
  std::int32_t section = -1;  ///< -1: before or after the traced events
  std::int64_t repetition = 0;
};

/// Live bytes before, at most within, and after one section (all its repetitions).
struct SectionBytes {
  double before = 0;
  double peak = 0;
  double after = 0;
};

/// A step read for one batch and length.
struct Replay {
  double weights = 0;
  double weight_copies = 0;
  double optimizer_states = 0;
  double optimizer_transient = 0;
  double gradient_buffers = 0;   ///< gradients that live throughout
  double live_gradients = 0;     ///< of earlier micro-batches, at the start of the traced one
  double carried_gradients = 0;  ///< of the step before, at the start of this one
  double waiting = 0;            ///< what a pipeline stage's other micro-batches in flight keep, all through the step
  double after_forward = 0;
  double after_backward = 0;
  PeakPoint peak_forward;  ///< forward and loss
  PeakPoint peak_backward;
  std::vector<SectionBytes> sections;  ///< one for each section of the step
};

/// MEM-1  Adds and subtracts the step's events in order. A section of r repetitions whose events change live bytes by d
/// and reach p above its start peaks at p or (r-1) d + p, and ends r d higher: its repetitions are equal and affine.
Replay ReplayStep(const Step& step, const Axes& axes);

/// How many of each storage are alive at a point of the events (residents are not counted). Repetitions of a section
/// count as often as they ran; a storage that one layer makes and the next one frees can count below zero, and its
/// equal in the next layer above one: sums over equal storages are right.
std::vector<std::int64_t> CountAlive(const Step& step, const PeakPoint& point);

}  // namespace tunefit
