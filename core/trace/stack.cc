#include "core/trace/stack.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "core/trace/checkpointing.h"
#include "core/trace/sharding.h"

namespace tunefit {
namespace {

/// Layers that differ in their window only are traced alike: the kernels modelled here hold the same tensors for both.
bool SameTrace(const Block& a, Block b) {
  const auto* attention = std::get_if<Attention>(&a.mixer);
  auto* other = std::get_if<Attention>(&b.mixer);
  if (attention != nullptr && other != nullptr) other->window = attention->window;
  return a == b;
}

/// The run with a period of one where its layers are all traced alike.
LayerRun Simplified(const LayerRun& run) {
  for (const Block& block : run.period) {
    if (!SameTrace(run.period.front(), block)) return run;
  }
  return {{run.period.front()}, run.repeats * static_cast<std::int64_t>(run.period.size()), run.piece};
}

/// The repetitions that a run's traced periods stand for. The first meets another part of the model (its input may need
/// no gradient, and is held by the model), all others meet their equals; so does the last, which
/// backward reaches first, under sharding, when no unit's reduction is under way, where all layers read something
/// (an encoder's output, a table of distances), when nothing has been added yet to its gradient, and with FP8 products,
/// where the gradient that it gets is not a sum, which is let go of at another moment.
std::vector<std::int64_t> FoldRun(std::int64_t repeats, bool last_apart, Unrolling unrolling) {
  const std::int64_t apart = last_apart ? 2 : 1;
  if (unrolling == Unrolling::kAll || repeats <= apart + 1) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(repeats), 1);
  }
  if (last_apart) return {1, repeats - apart, 1};
  return {1, repeats - apart};
}

std::int64_t FirstTrainedLayer(const Workload& workload) {
  return workload.architecture.layers() - workload.method.trainable_layers;
}

/// Runs cut before a layer, so that a run has its layers on one side: all frozen or trained, let go of after the
/// forward pass or not.
std::vector<LayerRun> CutAt(const std::vector<LayerRun>& runs, std::int64_t layer) {
  const std::int64_t layers = CountLayers(runs);
  const std::int64_t before = std::clamp<std::int64_t>(layer, 0, layers);
  std::vector<LayerRun> cut = TakeLayers(runs, 0, before);
  for (LayerRun& run : TakeLayers(runs, before, layers - before)) cut.push_back(std::move(run));
  return cut;
}

std::vector<Stretch> MakeStretches(Tracer& tracer, ModuleFactory& factory, const Workload& workload,
                                   const std::vector<LayerRun>& runs, std::int64_t first_layer, Unrolling unrolling) {
  ShardedUnits* units = tracer.units();
  const bool last_apart = units != nullptr || workload.architecture.encodes_source() ||
                          workload.architecture.distance_rows > 0 || workload.architecture.streams ||
                          workload.precision.fp8_products;
  std::vector<Stretch> stretches;
  for (const LayerRun& run : runs) {
    for (const std::int64_t repeats : FoldRun(run.repeats, last_apart, unrolling)) {
      Stretch stretch;
      stretch.repeats = repeats;
      stretch.first_layer = first_layer;
      stretch.piece = run.piece;
      for (std::size_t k = 0; k < run.period.size(); ++k) {
        const bool is_unit = units != nullptr && units->wraps_layers();
        const std::int32_t unit = is_unit ? units->Open(first_layer + static_cast<std::int64_t>(k)) : -1;
        factory.InTrainedLayer(first_layer >= FirstTrainedLayer(workload));
        LayerModule layer = MakeLayer(factory, run.period[k], workload.architecture.hidden_size, {repeats, true});
        layer.checkpointed = ChecksLayer(workload, first_layer + static_cast<std::int64_t>(k));
        layer.unit = unit;
        stretch.layers.push_back(std::move(layer));
      }
      first_layer += static_cast<std::int64_t>(run.period.size()) * repeats;
      stretches.push_back(std::move(stretch));
    }
  }
  factory.InTrainedLayer(false);
  if (units != nullptr) units->Close();
  return stretches;
}

/// Where a layer stands in its stack.
struct Standing {
  bool first = true;          ///< it makes what the others share
  bool first_checked = true;  ///< the last to run again
};

/// The same with the layer's own part of the embeddings, which the model cuts out, and with keys and values that it
/// sets for later layers. What those read is no input of their checkpoints: it is in a dictionary that all share.
Value RunStreamLayer(Tracer& tracer, const LayerModule& layer, LayerContext& context, const Value& hidden,
                     const CheckpointRule& rule) {
  const double width = static_cast<double>(layer.block->streams->gate.out_features);
  const Value own = tracer.Narrow(context.layer_inputs, context.tokens * width);
  if (!layer.checkpointed) return Forward(tracer, layer, context, hidden, own);
  const auto module = [&tracer, &layer, &context](const std::array<Value, 3>& inputs) {
    return Forward(tracer, layer, context, inputs[0], inputs[1]);
  };
  // The last norm's gradient is in fp32 before the norm asks for its input.
  CheckpointRule of_layer = rule;
  of_layer.ahead = tracer.SizeOf(hidden) / static_cast<double>(layer.block->streams->streams);
  const auto& attention = std::get<Attention>(layer.block->mixer);
  if (attention.keys != KeySource::kLent) return tracer.Checkpoint(module, {hidden, own}, of_layer);
  // Set again, they stay in that dictionary until no layer's checkpoint holds it.
  of_layer.made_stays = true;
  LentKeys& lent = (*context.lenders)[attention.lender];
  return tracer.Checkpoint(module, {hidden, own}, of_layer, {&lent.key, &lent.value}, {});
}

/// One layer, checkpointed or not. Layers of an encoder-decoder pass along what their stack made for all of them.
Value RunLayer(Tracer& tracer, const LayerModule& layer, LayerContext& context, const Value& hidden,
               const CheckpointRule& rule, const Standing& standing) {
  if (layer.streams) return RunStreamLayer(tracer, layer, context, hidden, rule);
  if (!layer.checkpointed) return Forward(tracer, layer, context, hidden);
  if (!context.of_one_stack) {
    const auto module = [&tracer, &layer, &context](const std::array<Value, 3>& inputs) {
      return Forward(tracer, layer, context, inputs[0]);
    };
    return tracer.Checkpoint(module, {hidden}, rule);
  }
  const auto module = [&tracer, &layer, &context, standing](const std::array<Value, 3>& inputs) {
    if (standing.first) *context.biases = {};
    Value states = Forward(tracer, layer, context, inputs[0]);
    if (standing.first_checked && tracer.recomputing()) {
      SharedBiases made = standing.first ? *context.biases : SharedBiases();
      context.DropTensors();
      *context.biases = std::move(made);
    }
    return states;
  };
  const std::initializer_list<const Value*> held = {&context.mask, &context.cross_mask, &context.source};
  if (!standing.first) return tracer.Checkpoint(module, {hidden}, rule, {}, held);
  return tracer.Checkpoint(module, {hidden}, rule, {&context.biases->own, &context.biases->cross}, held);
}

/// What one piece of a pipeline stage sends on is not what the next one receives, and counts with the micro-batches
/// that have gone through its own piece.
Value PassToPiece(Tracer& tracer, Value sent, std::int64_t piece, Moment moment) {
  const std::int64_t sender = std::exchange(tracer.piece, piece);
  tracer.BeginSection(moment, -1, 1, 1);
  Value received = tracer.Exchange(sent, tracer.SizeOf(sent), "received hidden states", Value());
  tracer.piece = sender;
  tracer.BeginSection(moment, -1, 1, 1);
  sent.Drop();
  tracer.piece = piece;
  return received;
}

/// What layers on other cards make of the hidden states; something of theirs trains.
Value ReceiveFromLayers(Tracer& tracer, Value sent) {
  Value received = tracer.Exchange(sent, tracer.SizeOf(sent), "received hidden states", Value());
  sent.Drop();
  if (tracer.gradients() && !tracer.RequiresGradient(received)) received = tracer.RequireGradient(std::move(received));
  return received;
}

}  // namespace

LayerStack MakeStack(Tracer& tracer, ModuleFactory& factory, const Workload& workload,
                     const std::vector<LayerRun>& runs, std::int64_t first_layer, Unrolling unrolling) {
  LayerStack stack;
  for (const LayerRun& run : runs) stack.runs.push_back(Simplified(run));
  if (workload.method.kind == MethodKind::kFreeze) stack.runs = CutAt(stack.runs, FirstTrainedLayer(workload));
  const std::optional<std::int64_t> first_kept =
      tracer.units() != nullptr ? tracer.units()->FirstLayerKept() : std::nullopt;
  if (first_kept) stack.runs = CutAt(stack.runs, *first_kept - first_layer);
  stack.runs = InStepWithCheckpoints(stack.runs, workload);
  stack.stretches = MakeStretches(tracer, factory, workload, stack.runs, first_layer, unrolling);
  return stack;
}

Value RunStack(Tracer& tracer, const Workload& workload, const LayerStack& stack, LayerContext& context, Value hidden,
               Moment moment) {
  const CheckpointRule rule = LayerRule(workload);
  Standing standing;
  for (const Stretch& stretch : stack.stretches) {
    const auto period = static_cast<std::int64_t>(stretch.layers.size());
    if (stretch.piece != tracer.piece) hidden = PassToPiece(tracer, std::move(hidden), stretch.piece, moment);
    tracer.BeginSection(moment, stretch.first_layer, period, stretch.repeats);
    for (const LayerModule& layer : stretch.layers) {
      // Compiled layer by layer: in backward its section ends in the gradient of what it begins with here, and in
      // forward in what it ends with. Left to the next layer's section, either would be written out once for all that
      // the section stands for.
      hidden = tracer.Boundary(hidden);
      if (layer.unit >= 0) hidden = tracer.EnterUnit(layer.unit, hidden);
      hidden = RunLayer(tracer, layer, context, hidden, rule, standing);
      standing.first = false;
      standing.first_checked = standing.first_checked && !layer.checkpointed;
      if (layer.unit >= 0) hidden = tracer.LeaveUnit(layer.unit, hidden);
      hidden = tracer.Boundary(hidden);
    }
  }
  tracer.BeginSection(moment, -1, 1, 1);
  hidden = tracer.Boundary(hidden);
  if (workload.stage.gets_states) hidden = ReceiveFromLayers(tracer, std::move(hidden));
  if (!stack.final_norm) return hidden;
  tracer.scope = {stack.final_norm->path, Term::kNorms, false};
  return Forward(tracer, *stack.final_norm, hidden, context.tokens / workload.parallel.StreamRanks());
}

}  // namespace tunefit
