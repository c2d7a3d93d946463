#include <algorithm>

#include "core/codec/report_parts.h"

namespace tunefit {
namespace {

void WriteOrNull(JsonWriter& writer, std::string_view key, const std::optional<double>& number) {
  if (number) {
    writer.Number(key, *number);
  } else {
    writer.Null(key);
  }
}

/// Writes the parts of a cost, in one detail, with the catalog's formulas.
class CostWriter {
 public:
  CostWriter(JsonWriter& writer, const Catalog& catalog, bool full) : writer_(writer), catalog_(catalog), full_(full) {}

  void WriteRented(const CostReport& report) {
    writer_.Key("rented");
    writer_.BeginList();
    std::int64_t place = 0;
    for (const RentedLine& line : report.rented) {
      const bool reference = place == report.reference;
      if (full_ || reference) WriteRentedLine(line, reference);
      ++place;
    }
    writer_.EndList();
  }

  void WriteServices(const std::vector<TokenServiceLine>& lines) {
    writer_.Key("token_services");
    writer_.BeginList();
    for (const TokenServiceLine& line : lines) {
      writer_.BeginObject();
      writer_.Text("provider", line.service->provider);
      writer_.Text("models", line.service->models);
      writer_.Text("method", TuningMethodName(line.service->method));
      WriteRange(writer_, "tokens", line.tokens);
      WriteRange(writer_, "cost", line.cost);
      WriteNotes(line.notes);
      WriteProvenance(&line.service->provenance);
      WriteFormula("token_service");
      writer_.EndObject();
    }
    writer_.EndList();
  }

  void WriteEnergy(const std::optional<EnergyUse>& energy) {
    if (!energy) return writer_.Null("energy");
    writer_.Key("energy");
    writer_.BeginObject();
    WriteRange(writer_, "gpu_watts", energy->gpu_watts);
    WriteRange(writer_, "host_watts", energy->host_watts);
    WriteRange(writer_, "kwh", energy->kwh);
    WriteRange(writer_, "kg_co2", energy->kg_co2);
    WriteRange(writer_, "cost", energy->cost);
    WriteNotes(energy->notes);
    writer_.Number("gpu_busy_share", energy->gpu_busy_share);
    WriteFigure("working_power_share", *energy->working_power_share);
    WriteFigure("waiting_power_share", *energy->waiting_power_share);
    WriteFigure("pue", energy->pue, energy->pue_from);
    WriteFigure("price_per_kwh", energy->price_per_kwh, energy->tariff_from);
    WriteFigure("g_co2_per_kwh", energy->g_co2_per_kwh, energy->grid_from, "emissions");
    WriteFormula("energy");
    writer_.EndObject();
  }

  void WriteBought(const std::optional<BoughtCost>& bought) {
    if (!bought) return writer_.Null("bought");
    const Purchase& purchase = bought->purchase;
    writer_.Key("bought");
    writer_.BeginObject();
    WriteRange(writer_, "price", purchase.price);
    writer_.CountOrNull("machines", purchase.machines);
    writer_.CountOrNull("gpus", purchase.gpus);
    WriteRange(writer_, "cost", bought->of_run.total());
    WriteRange(writer_, "per_hour", bought->per_hour.total());
    WriteParts(bought->of_run);
    writer_.Number("residual_share", bought->residual_share);
    writer_.Number("utilisation", bought->utilisation);
    WriteFigure("lifetime_years", bought->lifetime_years, bought->lifetime_from);
    WriteNotes(purchase.notes | bought->notes);
    WritePurchasePrices(purchase.prices);
    writer_.EndObject();
  }

  void WriteBreakEven(const std::optional<BreakEven>& even) {
    if (!even) return writer_.Null("break_even");
    writer_.Key("break_even");
    writer_.BeginObject();
    writer_.Text("state", BreakEvenStateName(even->state));
    writer_.Number("rent_per_hour", even->rent_per_hour);
    WriteReach("hours", even->low_hours, even->hours, even->high_hours);
    WriteReach("months", even->low_months, even->months, even->high_months);
    WriteOrNull(writer_, "cost", even->cost);
    writer_.Number("lifetime_hours", even->lifetime_hours);
    WriteFormula("break_even");
    if (full_) WritePoints(even->points);
    writer_.EndObject();
  }

  void WriteExtras(const std::vector<ExtraCost>& extras) {
    writer_.Key("extras");
    writer_.BeginList();
    for (const ExtraCost& extra : extras) {
      writer_.BeginObject();
      writer_.Text("id", ExtraKindName(extra.kind));
      WriteRange(writer_, "cost", extra.cost);
      writer_.EndObject();
    }
    writer_.EndList();
  }

  void WriteNotes(CostNotes notes) {
    writer_.Key("notes");
    writer_.BeginList();
    for (int i = 0; i < kCostNoteCount; ++i) {
      const auto note = static_cast<CostNote>(i);
      if (notes.Has(note)) writer_.Text(CostNoteName(note));
    }
    writer_.EndList();
  }

  /// The fields of the object at hand. Null for a number of the request's own.
  void WriteProvenance(const Provenance* from) {
    writer_.TextOrNull("date", from == nullptr ? std::string_view() : from->date);
    writer_.Flag("low_confidence", from != nullptr && from->low_confidence);
    if (!full_) return;
    writer_.TextOrNull("note", from == nullptr ? std::string_view() : from->note);
    writer_.Key("source_ids");
    writer_.BeginList();
    if (from != nullptr) {
      for (const std::string& id : from->source_ids) writer_.Text(id);
    }
    writer_.EndList();
  }

 private:
  void WriteRentedLine(const RentedLine& line, bool reference) {
    const Offer* offer = line.offer;
    writer_.BeginObject();
    writer_.TextOrNull("provider", offer == nullptr ? std::string_view() : offer->provider);
    writer_.TextOrNull("instance", offer == nullptr ? std::string_view() : offer->instance);
    writer_.TextOrNull("region", offer == nullptr ? std::string_view() : offer->region);
    writer_.TextOrNull("term", offer == nullptr ? std::string_view() : RentalTermName(offer->term));
    writer_.CountOrNull("machines", line.machines);
    writer_.CountOrNull("gpus_per_machine", offer == nullptr ? 0 : offer->gpus);
    writer_.Count("gpus_idle", line.gpus_idle);
    writer_.Number("price_per_hour", line.price_per_hour);
    WriteRange(writer_, "cost", line.cost);
    writer_.Flag("reference", reference);
    WriteNotes(line.notes);
    WriteProvenance(offer == nullptr ? nullptr : &offer->provenance);
    WriteFormula("rent");
    writer_.EndObject();
  }

  /// `of`: what the figure's formula computes; empty where it has none of its own.
  void WriteFigure(std::string_view key, const Range& value, const Provenance* from, std::string_view of = {}) {
    writer_.Key(key);
    writer_.BeginObject();
    WriteEnds(writer_, value);
    WriteProvenance(from);
    WriteFormula(of);
    writer_.EndObject();
  }

  void WriteFigure(std::string_view key, const Figure& figure) { WriteFigure(key, figure.value, &figure.provenance); }

  /// They sum to the cost of the run.
  void WriteParts(const HourOfWork& of_run) {
    const std::pair<std::string_view, const Range&> parts[] = {{"amortisation", of_run.amortisation},
                                                               {"support", of_run.support},
                                                               {"rack", of_run.rack},
                                                               {"electricity", of_run.electricity}};
    writer_.Key("parts");
    writer_.BeginList();
    for (const auto& [id, cost] : parts) {
      if (cost.high <= 0) continue;
      writer_.BeginObject();
      writer_.Text("id", id);
      WriteRange(writer_, "cost", cost);
      WriteFormula(id);
      writer_.EndObject();
    }
    writer_.EndList();
  }

  void WritePurchasePrices(const std::vector<const PurchasePrice*>& prices) {
    writer_.Key("prices");
    writer_.BeginList();
    for (const PurchasePrice* price : prices) {
      writer_.BeginObject();
      writer_.TextOrNull("server", price->server);
      writer_.TextOrNull("gpu", price->gpu);
      writer_.CountOrNull("gpus", price->gpus);
      writer_.Number("low", price->low);
      writer_.Number("high", price->high);
      writer_.Text("currency", CurrencyName(price->currency));
      writer_.Text("kind", PurchaseKindName(price->kind));
      WriteProvenance(&price->provenance);
      writer_.EndObject();
    }
    writer_.EndList();
  }

  /// Null where that is never.
  void WriteReach(std::string_view key, const std::optional<double>& low, const std::optional<double>& expected,
                  const std::optional<double>& high) {
    writer_.Key(key);
    writer_.BeginObject();
    WriteOrNull(writer_, "low", low);
    WriteOrNull(writer_, "expected", expected);
    WriteOrNull(writer_, "high", high);
    writer_.EndObject();
  }

  void WritePoints(const std::vector<BreakEvenPoint>& points) {
    writer_.Key("points");
    writer_.BeginList();
    for (const BreakEvenPoint& point : points) {
      writer_.BeginObject();
      writer_.Number("hours", point.hours);
      writer_.Number("rented", point.rented);
      WriteRange(writer_, "bought", point.bought);
      writer_.EndObject();
    }
    writer_.EndList();
  }

  /// Nothing for what is only the request's own numbers: no source is behind it.
  void WriteFormula(std::string_view of) {
    const CatalogFormula* formula = catalog_.FindFormula(of);
    if (formula != nullptr) writer_.Text("formula_id", formula->id);
  }

  JsonWriter& writer_;
  const Catalog& catalog_;
  bool full_;
};

void WriteDisk(JsonWriter& writer, const DiskUse* disk) {
  if (disk == nullptr) return writer.Null("disk");
  writer.Key("disk");
  writer.BeginObject();
  WriteBytes(writer, "checkpoints_bytes", disk->checkpoints_bytes);
  WriteBytes(writer, "dataset_bytes", disk->dataset_bytes);
  WriteBytes(writer, "total_bytes", disk->total());
  writer.EndObject();
}

}  // namespace

void WriteCost(JsonWriter& writer, const CostReport* report, const DiskUse* disk, const Catalog& catalog, bool full) {
  if (report == nullptr) return writer.Null("cost");
  CostWriter parts(writer, catalog, full);
  writer.Key("cost");
  writer.BeginObject();
  writer.Text("currency", CurrencyName(report->currency));
  writer.Key("exchange");
  writer.BeginObject();
  writer.Number("eur_per_usd", report->eur_per_usd->value.expected);
  parts.WriteProvenance(&report->eur_per_usd->provenance);
  writer.EndObject();
  parts.WriteNotes(report->notes);
  parts.WriteRented(*report);
  parts.WriteServices(report->token_services);
  parts.WriteBought(report->bought);
  parts.WriteEnergy(report->energy);
  parts.WriteBreakEven(report->break_even);
  parts.WriteExtras(report->extras);
  WriteDisk(writer, disk);
  writer.EndObject();
}

void AddCostSources(const CostReport& report, std::vector<std::string_view>& ids) {
  const auto add = [&ids](const Provenance* from) {
    if (from != nullptr) ids.insert(ids.end(), from->source_ids.begin(), from->source_ids.end());
  };
  add(&report.eur_per_usd->provenance);
  for (const RentedLine& line : report.rented) {
    if (line.offer != nullptr) add(&line.offer->provenance);
  }
  for (const TokenServiceLine& line : report.token_services) add(&line.service->provenance);
  if (report.energy) {
    const EnergyUse& energy = *report.energy;
    for (const Provenance* from : {&energy.working_power_share->provenance, &energy.waiting_power_share->provenance,
                                   energy.pue_from, energy.tariff_from, energy.grid_from}) {
      add(from);
    }
  }
  if (!report.bought) return;
  add(report.bought->lifetime_from);
  add(report.bought->support_from);
  for (const PurchasePrice* price : report.bought->purchase.prices) add(&price->provenance);
}

}  // namespace tunefit
