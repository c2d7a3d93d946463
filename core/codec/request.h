#pragma once

#include <string>
#include <string_view>

#include "core/codec/assumption.h"
#include "core/codec/catalog.h"
#include "core/codec/json_value.h"
#include "core/codec/market.h"
#include "core/codec/request_fields.h"
#include "core/model/issue.h"
#include "core/model/workload.h"
#include "core/time/run.h"

namespace tunefit {

/// A request, read, completed and understood. Not to be copied: its views point into its own tree and the catalog.
struct RequestReading {
  JsonValue tree;
  RequestFields completed;  ///< the request with every default filled in
  Workload workload;
  const CatalogModel* model = nullptr;    ///< null for a pasted config
  const Gpu* gpu = nullptr;               ///< null without hardware
  const CatalogServer* server = nullptr;  ///< null where the request names none
  const StackVersion* stack = nullptr;
  Wiring wiring;    ///< of its GPUs and machines, as far as the request or its server says
  Dataset dataset;  ///< empty where the request has none
  bool full_detail = true;
  bool names_quantization = false;  ///< the request has the key, null or not
  bool includes_limits = false, includes_timeline = false, includes_ranks = false, includes_scaling = false,
       includes_advice = false;
  Issues issues;  ///< with an error among them, only `tree` and `issues` mean anything
  Assumptions assumptions;

  RequestReading() = default;
  RequestReading(const RequestReading&) = delete;
  RequestReading& operator=(const RequestReading&) = delete;
  RequestReading(RequestReading&&) = default;
  RequestReading& operator=(RequestReading&&) = default;
};

/// Reads a request text: checks every field against the contract, fills in what is missing from the stack's defaults
/// (each one an assumption), and refuses what the core does not model yet with `not_modelled`. The workload of a
/// reading without errors has been validated. `market` is null where none has been read: then no server is known.
RequestReading ReadRequest(std::string_view text, const Catalog& catalog, const Market* market = nullptr);

/// The first half of it: the fields as they are written, checked one by one, and nothing that follows from them.
RequestReading ReadWritten(std::string_view text);

/// The second half, of fields that were read before, or chosen: their views must outlive the reading, whose `tree`
/// stays empty.
RequestReading CompleteFields(RequestFields fields, const Catalog& catalog, const Market* market = nullptr);

}  // namespace tunefit
