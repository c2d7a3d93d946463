#include "tests/validation/thresholds.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/files.h"

namespace tunefit::validation {
namespace {

using Json = nlohmann::json;

class Checker {
 public:
  void Groups(const std::string& what, const Json& limits, const Summaries& summaries) {
    for (const auto& [name, of_group] : limits.items()) {
      const auto found = summaries.find(name);
      if (found == summaries.end()) {
        failures_.push_back(what + " " + name + ": no rows");
        continue;
      }
      for (const auto& [figure, limit] : of_group.items()) {
        Bound(what + " " + name + " " + figure, FigureOf(found->second, figure), limit.get<double>());
      }
    }
  }
  void Rows(const std::string& what, int modelled, const Json& limits) {
    if (modelled < limits.value(what, 0)) failures_.push_back(what + ": fewer rows modelled than before");
  }
  /// Every promise is kept but those that are still open; one that came true is promised from then on.
  void Bars(const Json& open_ids, const std::vector<Bar>& bars) {
    std::set<std::string> open;
    for (const Json& id : open_ids) open.insert(id.get<std::string>());
    for (const Bar& bar : bars) {
      const bool is_open = open.erase(bar.id) > 0;
      if (!is_open && !bar.met()) failures_.push_back("no longer met: " + bar.id);
      if (is_open && bar.met()) failures_.push_back("met now, and so no longer open: " + bar.id);
    }
    for (const std::string& id : open) failures_.push_back("no such promise: " + id);
  }
  void None(const std::string& what, const std::vector<std::string>& ids) {
    for (const std::string& id : ids) failures_.push_back(id + ": " + what);
  }
  std::vector<std::string> failures() && { return std::move(failures_); }

 private:
  static double FigureOf(const Summary& summary, const std::string& name) {
    if (name == "median") return summary.median;
    if (name == "p90") return summary.p90;
    return name == "p95" ? summary.p95 : summary.worst;
  }
  void Bound(const std::string& what, double value, double limit) {
    if (value > limit) failures_.push_back(what + ": " + Percent(value) + " is over " + Percent(limit));
  }

  std::vector<std::string> failures_;
};

}  // namespace

std::vector<std::string> CheckThresholds(const std::string& path, const Findings& findings,
                                         const std::vector<Bar>& bars) {
  const Json limits = Json::parse(test::ReadFile(path), nullptr, false);
  Checker checker;
  if (limits.is_discarded()) return {path + " is not JSON"};
  const Json none = Json::object();
  const Json rows = limits.value("rows", none);
  checker.Rows("live", findings.oracle_modelled, rows);
  checker.Rows("live_as_on_gpu", findings.cuda_modelled, rows);
  checker.Rows("measured", findings.measured_modelled, rows);
  checker.None("parameters differ", findings.wrong_counts);
  checker.Groups("live", limits.value("live", none), findings.oracle_held);
  checker.Groups("live_as_on_gpu", limits.value("live_as_on_gpu", none), findings.cuda_phases);
  const auto kinds = findings.measured.find("kind");
  checker.Groups("measured", limits.value("measured", none),
                 kinds != findings.measured.end() ? kinds->second : Summaries{});
  checker.Bars(limits.value("open_bars", Json::array()), bars);
  return std::move(checker).failures();
}

}  // namespace tunefit::validation
