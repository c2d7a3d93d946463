#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec/json_value.h"
#include "core/codec/request_fields.h"
#include "core/memory/overheads.h"
#include "core/model/architecture.h"
#include "core/model/hardware.h"
#include "core/model/issue.h"
#include "core/model/workload.h"
#include "core/time/efficiencies.h"
#include "core/time/outside_steps.h"

namespace tunefit {

/// A model that has a name. `architecture` counts exactly `parameters`.
struct CatalogModel {
  std::string id, name, hf_id, family, organisation;
  std::vector<std::string> aliases;
  Architecture architecture;
  std::int64_t parameters = 0;
  std::vector<std::string> source_ids;
};

struct CatalogGpu {
  Gpu gpu;
  std::vector<std::string> aliases;
  std::string release;  ///< "2024", "2024-05" or "2024-05-20"; empty when not known
  std::string form;     ///< as its maker names it: "SXM5", "PCIe dual slot"; empty when not known
  std::string ecc;      ///< "none", "off" or "on" as shipped, "supported"; empty when not known

  bool has_ecc() const { return ecc == "on" || ecc == "off" || ecc == "supported"; }
};

/// A training stack as it was from a month on.
struct StackVersion {
  std::string since;     ///< "YYYY-MM"
  JsonValue defaults;    ///< what holds then, earlier versions included; the views of `fields` point into it
  RequestFields fields;  ///< the same, read
  /// LoRA's target modules by model type; "*" for every other.
  std::map<std::string, Targets, std::less<>> target_modules;
  Habits habits;
  std::vector<std::string> source_ids;  ///< sorted, those of earlier versions included
};

struct CatalogStack {
  std::string id, name;
  std::vector<StackVersion> versions;  ///< oldest first, at least one

  /// The version in force in that month; the oldest where the month is before it.
  const StackVersion& At(std::string_view month) const;
};

struct CatalogSource {
  std::string id, title, locator, read, grade;
};

/// What a link joins, and so whose share of it a GPU has.
enum class Joins : std::uint8_t {
  kGpus,           ///< GPUs of one machine, each by its own
  kGpusByHost,     ///< the same by way of the host: PCIe
  kMachinesByGpu,  ///< machines, by a port for each GPU
  kMachines,       ///< machines, by what all GPUs of one share
};

/// A link between GPUs or machines whose rate is known; those to memory, drives and the host, and those of cards that
/// the catalog does not have, are for people.
struct CatalogInterconnect {
  std::string id, name;
  Joins joins = Joins::kGpus;
  double bytes_per_second = 0;    ///< one way
  std::vector<std::string> gpus;  ///< ids of those that have it; empty where any may
};

/// Where a line of the breakdown is explained (core/METHOD.md) and what the explanation rests on.
struct CatalogFormula {
  std::string id;  ///< "MEM-20"
  std::string of;  ///< the term's or overhead's id: "attention"
  std::vector<std::string> source_ids;
};

/// A name in lower case, and the index of the row that has it.
using RowName = std::pair<std::string, std::size_t>;

/// What Tunefit knows about the world, as far as an estimate needs it. Made once from the bundled text; never changes
/// after that.
struct Catalog {
  std::string date;  ///< "YYYY-MM-DD"
  std::vector<CatalogGpu> gpus;
  std::vector<CatalogModel> models;
  std::vector<CatalogStack> stacks;
  std::vector<CatalogInterconnect> interconnects;
  std::vector<CatalogSource> sources;    ///< sorted by id
  std::vector<CatalogFormula> formulas;  ///< one for every term and overhead of a report
  Overheads overheads;
  Efficiencies efficiencies;
  OutsideRates outside_steps;
  std::vector<std::string> outside_source_ids;
  std::vector<RowName> gpu_names;    ///< ids and aliases, sorted
  std::vector<RowName> model_names;  ///< ids, Hugging Face ids and aliases, sorted

  /// By id, Hugging Face id or alias, without regard to case. Null when nobody has that name.
  const CatalogModel* FindModel(std::string_view name) const;
  /// By id or alias, without regard to case.
  const Gpu* FindGpu(std::string_view name) const;
  /// By id, without regard to case.
  const CatalogInterconnect* FindInterconnect(std::string_view id) const;
  const CatalogStack* FindStack(std::string_view id) const;
  const CatalogSource* FindSource(std::string_view id) const;
  /// The formula of a term or overhead. Never null in a catalog that was read without faults.
  const CatalogFormula* FindFormula(std::string_view of) const;
};

/// Reads the first bundle, `{"meta", "gpus", "purposes", "interconnects", "models", "stacks", "sources", "formulas",
/// "overheads", "efficiencies", "outside_steps"}`, and checks every rule of the catalog (catalog/README.md). All faults
/// are added to `issues`, with the dotted path in the bundle as their field; the answer is only to be used when there
/// are none.
Catalog ReadCatalog(std::string_view text, Issues& issues);

}  // namespace tunefit
