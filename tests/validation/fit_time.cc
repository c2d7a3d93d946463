#include "tests/validation/fit_time.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tunefit::validation {
namespace {

/// A row that is off by more says nothing more: another mechanism is at work there.
constexpr double kMostError = 0.6;

/// Where the search begins, and what a value may not exceed. Shares are of what is printed, but for products in FP8: of
/// the best that somebody measured, whose printed rate is 1.82 times that over what products in 16 bits reach of theirs
/// (H100: 1979 / 1403 / 0.7725).
struct Start {
  double value, most;
};
constexpr std::array<Start, kConstantCount> kStarts = {{{0.82, 1},
                                                        {0.9, 1.82},
                                                        {0.8, 1.3},
                                                        {0.5, 1},
                                                        {0.4, 1},
                                                        {0.6, 1},
                                                        {0.8, 1},
                                                        {1e-5, 1e-3},
                                                        {2e-4, 1e-2},
                                                        {0.8, 1},
                                                        {0.7, 1},
                                                        {0.8, 1},
                                                        {0.1, 1},
                                                        {0.6, 1},
                                                        {0.05, 1}}};
constexpr double kFactors[] = {0.5, 0.7, 0.85, 0.93, 0.97, 0.99, 1.01, 1.03, 1.07, 1.15, 1.4, 2};

/// What a GPU's share of its machines' network usually is (catalog/interconnects.json: HDR, NDR, XDR, 100 Gb/s).
Efficiencies Begin() {
  Efficiencies begin;
  for (std::size_t i = 0; i < kConstantCount; ++i) begin.constants[i] = kStarts[i].value;
  begin.architectures = {{"", 0.75, 12.5e9},     {"Ampere", 0.85, 25e9},   {"Ada", 0.9, 12.5e9},
                         {"Hopper", 0.75, 50e9}, {"Blackwell", 0.7, 50e9}, {"Blackwell Ultra", 0.7, 100e9},
                         {"CDNA3", 0.75, 50e9},  {"CDNA4", 0.75, 50e9}};
  return begin;
}

double Loss(const std::vector<const TimedRow*>& rows, const Efficiencies& efficiencies) {
  double sum = 0;
  double weights = 0;
  for (const TimedRow* row : rows) {
    const double error = std::abs(std::log(TimeOf(*row, efficiencies).seconds / row->seconds));
    sum += row->weight * std::min(error, kMostError);
    weights += row->weight;
  }
  return sum / weights;
}

/// An architecture that none of the rows ran on, and any that the catalog does not name, reach what the others do in
/// the middle.
void FillUnmeasured(const std::vector<const TimedRow*>& rows, Efficiencies& fitted) {
  std::vector<Efficiencies::Architecture*> unmeasured;
  std::vector<double> shares;
  for (Efficiencies::Architecture& architecture : fitted.architectures) {
    const auto ran = [&](const TimedRow* row) { return &fitted.Of(*row->card) == &architecture; };
    if (std::any_of(rows.begin(), rows.end(), ran)) {
      shares.push_back(architecture.matmul_share);
    } else {
      unmeasured.push_back(&architecture);
    }
  }
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  for (Efficiencies::Architecture* architecture : unmeasured) architecture->matmul_share = *middle;
}

/// One value after another by factors, as long as the loss falls.
Efficiencies Fit(const std::vector<const TimedRow*>& rows, Efficiencies best) {
  double loss = Loss(rows, best);
  const auto improve = [&](double& value, double most) {
    const double from = value;
    double kept = from;
    for (const double factor : kFactors) {
      value = std::min(from * factor, most);
      const double other = Loss(rows, best);
      if (other >= loss) continue;
      loss = other;
      kept = value;
    }
    value = kept;
  };
  for (double before = loss + 1; before - loss > 1e-5;) {
    before = loss;
    for (std::size_t i = 0; i < kConstantCount; ++i) improve(best.constants[i], kStarts[i].most);
    for (Efficiencies::Architecture& architecture : best.architectures) improve(architecture.matmul_share, 1.1);
  }
  FillUnmeasured(rows, best);
  return best;
}

/// The narrowest interval around the estimate that holds so many of the measured runs.
constexpr double kShareInside = 0.92;

Spread SpreadOf(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const auto inside = static_cast<std::size_t>(std::ceil(kShareInside * static_cast<double>(ratios.size())));
  Spread best{1, 1e9};
  for (std::size_t first = 0; inside > 0 && first + inside <= ratios.size(); ++first) {
    const Spread spread{std::max(0.0, 1 - ratios[first]), std::max(0.0, ratios[first + inside - 1] - 1)};
    if (spread.low + spread.high < best.low + best.high) best = spread;
  }
  return best;
}

void FitSpreads(const std::vector<TimedRow>& rows, Efficiencies& fitted) {
  std::array<std::vector<double>, kBoundCount> ratios;
  for (const TimedRow& row : rows) {
    const StepTime time = TimeOf(row, fitted);
    ratios[static_cast<std::size_t>(time.bound)].push_back(row.seconds / time.seconds);
  }
  for (std::size_t i = 0; i < ratios.size(); ++i) fitted.spreads[i] = SpreadOf(ratios[i]);
}

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// catalog/efficiencies.json.
void PrintJson(const std::vector<TimedRow>& rows, const Efficiencies& fitted) {
  std::printf("{\n\"constants\":{");
  for (std::size_t i = 0; i < kConstantCount; ++i) {
    std::printf("%s\"%s\":%s", i == 0 ? "" : ",", kConstantNames[i], Rounded(fitted.constants[i]).c_str());
  }
  std::printf("},\n\"architectures\":[\n");
  for (std::size_t i = 0; i < fitted.architectures.size(); ++i) {
    const Efficiencies::Architecture& row = fitted.architectures[i];
    std::printf("{\"architecture\":\"%s\",\"matmul_share\":%s,\"network_GBps\":%s}%s\n", row.name.c_str(),
                Rounded(row.matmul_share).c_str(), Rounded(row.network_bytes_per_second / 1e9).c_str(),
                i + 1 < fitted.architectures.size() ? "," : "");
  }
  std::printf("],\n\"spreads\":{");
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    std::printf("%s\"%s\":{\"low\":%s,\"high\":%s}", i == 0 ? "" : ",", kBoundNames[i],
                Rounded(fitted.spreads[i].low).c_str(), Rounded(fitted.spreads[i].high).c_str());
  }
  std::map<std::string, int> of_source;
  for (const TimedRow& row : rows) ++of_source[row.source.key];
  std::printf("},\n\"runs\":[\n");
  std::size_t left = of_source.size();
  for (const auto& [source, count] : of_source) {
    std::printf("{\"source\":\"%s\",\"rows\":%d}%s\n", source.c_str(), count, --left > 0 ? "," : "");
  }
  std::printf("]\n}\n");
}

void PrintGroup(const std::string& title, const std::vector<Sample>& samples) {
  const auto by_error = [](const Sample& a, const Sample& b) { return a.error < b.error; };
  const auto [lowest, highest] = std::minmax_element(samples.begin(), samples.end(), by_error);
  const Summary summary = Summarize(samples);
  std::fprintf(stderr, "%-96s %4d  bias %5.2f  error %5.1f %5.1f %%  %.2f .. %.2f\n", title.c_str(), summary.rows,
               1 + summary.bias, 100 * summary.median, 100 * summary.p90, 1 + lowest->error, 1 + highest->error);
}

void PrintRanges(const std::vector<TimedRow>& rows, const Efficiencies& fitted) {
  std::vector<Sample> samples;
  for (const TimedRow& row : rows) samples.push_back(Compare(row, fitted));
  const Summary summary = Summarize(samples);
  std::fprintf(stderr, "inside the range %.1f %%, median half-width %.1f %%\n", 100 * summary.inside,
               100 * summary.half_width);
}

template <typename KeyOf>
void PrintBy(const char* title, const std::vector<TimedRow>& rows, const Efficiencies& fitted, KeyOf key_of) {
  std::map<std::string, std::vector<Sample>> groups;
  for (const TimedRow& row : rows) groups[key_of(row)].push_back(Compare(row, fitted));
  std::fprintf(stderr, "\n%s\n", title);
  for (const auto& [name, samples] : groups) PrintGroup(name, samples);
}

void PrintLeftOut(const std::vector<TimedRow>& rows, const Efficiencies& fitted) {
  std::vector<Sample> all;
  std::fprintf(stderr, "\nsources left out\n");
  for (const auto& [source, samples] : LeaveOut(rows, fitted)) {
    PrintGroup(source, samples);
    all.insert(all.end(), samples.begin(), samples.end());
  }
  PrintGroup("all", all);
}

/// Every row: published seconds, the estimate's share of them, and its terms in percent.
void PrintRows(const std::vector<TimedRow>& rows, const Efficiencies& fitted) {
  std::fprintf(stderr, "\nrows: seconds, estimate over measured, bound, terms in percent (");
  for (const char* name : kTimeTermNames) std::fprintf(stderr, " %s", name);
  std::fprintf(stderr, ")\n");
  for (const TimedRow& row : rows) {
    const StepTime time = TimeOf(row, fitted);
    std::fprintf(stderr, "%-70s %9.4g %5.2f %-8s", row.id.c_str(), row.seconds, time.seconds / row.seconds,
                 kBoundNames[static_cast<std::size_t>(time.bound)]);
    for (const double term : time.terms) std::fprintf(stderr, " %3.0f", 100 * term / time.seconds);
    std::fprintf(stderr, "\n");
  }
}

}  // namespace

std::map<std::string, std::vector<Sample>> LeaveOut(const std::vector<TimedRow>& rows, const Efficiencies& fitted) {
  std::map<std::string, std::vector<Sample>> left_out;
  for (const TimedRow& row : rows) left_out[row.source.key];
  for (auto& [source, samples] : left_out) {
    std::vector<const TimedRow*> others;
    for (const TimedRow& row : rows) {
      if (row.source.key != source) others.push_back(&row);
    }
    const Efficiencies without = Fit(others, fitted);
    for (const TimedRow& row : rows) {
      if (row.source.key == source) samples.push_back(Compare(row, without));
    }
  }
  return left_out;
}

int FitTime(const std::vector<std::string>& paths, const Catalog& catalog) {
  const std::vector<TimedRow> rows = ReadTimedRows(paths, catalog);
  std::vector<const TimedRow*> all;
  for (const TimedRow& row : rows) all.push_back(&row);
  Efficiencies fitted = Fit(all, Begin());
  FitSpreads(rows, fitted);
  PrintJson(rows, fitted);
  for (std::size_t i = 0; i < kConstantCount; ++i) {
    std::fprintf(stderr, "%-20s %.4g\n", kConstantNames[i], fitted.constants[i]);
  }
  for (const Efficiencies::Architecture& architecture : fitted.architectures) {
    std::fprintf(stderr, "%-20s %.4g\n", architecture.name.c_str(), architecture.matmul_share);
  }
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    std::fprintf(stderr, "%-20s -%.3f +%.3f\n", kBoundNames[i], fitted.spreads[i].low, fitted.spreads[i].high);
  }
  PrintRanges(rows, fitted);
  PrintBy("all", rows, fitted, [](const TimedRow&) { return std::string(); });
  PrintBy("by architecture", rows, fitted, [](const TimedRow& row) { return row.card->architecture; });
  PrintBy("by method", rows, fitted, [](const TimedRow& row) { return row.method; });
  PrintBy("by what bounds it", rows, fitted, [&](const TimedRow& row) {
    return std::string(kBoundNames[static_cast<std::size_t>(TimeOf(row, fitted).bound)]);
  });
  PrintBy("by source", rows, fitted, [](const TimedRow& row) { return row.source.key; });
  PrintBy("by group", rows, fitted, [](const TimedRow& row) {
    return row.source.key.substr(0, 26) + " " + row.gpu + " " + row.layout + " " + row.method + " " + row.dtype;
  });
  PrintLeftOut(rows, fitted);
  PrintRows(rows, fitted);
  return 0;
}

}  // namespace tunefit::validation
