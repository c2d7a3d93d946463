#include "core/trace/encoder_head.h"

#include <utility>

#include "core/trace/loss.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};
constexpr Size kOnePerSequence{1, Axis::kSequences};

/// DistilBertConfig's seq_classif_dropout; the others take the dropout of their layers.
constexpr double kDistilBertDropout = 0.2;

/// Dense, activation, norm: BertPredictionHeadTransform, RobertaLMHead, ModernBertPredictionHead.
Value Transform(Tracer& tracer, const EncoderHead& head, const Value& x, Size rows) {
  Value states = tracer.Gelu(Forward(tracer, head.dense, x));
  return head.norm ? Forward(tracer, *head.norm, states, rows) : states;
}

/// The states of the first token on their way to the labels: BertPooler and what stands in its place.
Value Pool(Tracer& tracer, const Architecture& architecture, const EncoderHead& head, Value first) {
  const double dropout = architecture.embedding_dropout;
  switch (architecture.encoder) {
    case EncoderKind::kModernBert:
      return Transform(tracer, head, first, kOnePerSequence);
    case EncoderKind::kDistilBert:
      return tracer.Dropout(tracer.Relu(Forward(tracer, head.dense, first)), kDistilBertDropout);
    case EncoderKind::kDeberta:
      return tracer.Dropout(tracer.Gelu(Forward(tracer, head.dense, first)), dropout);
    case EncoderKind::kRoberta:
      first = tracer.Dropout(std::move(first), dropout);
      break;
    case EncoderKind::kBert:
    case EncoderKind::kNone:
      break;
  }
  return tracer.Dropout(tracer.Tanh(Forward(tracer, head.dense, first)), dropout);
}

}  // namespace

EncoderHead MakeEncoderHead(ModuleFactory& factory, const Architecture& architecture, const Value& table) {
  const std::int64_t hidden = architecture.hidden_size;
  const bool modern = architecture.encoder == EncoderKind::kModernBert;
  const bool classifies = architecture.labels > 0;
  EncoderHead head;
  head.dense =
      factory.MakeHeadLinear({"dense", hidden, hidden, !modern}, classifies ? "pooler.dense" : "transform.dense");
  if (modern || !classifies) head.norm = factory.MakeNorm(architecture.head_norm, "transform.norm", hidden, {});
  if (classifies) {
    head.output = factory.MakeHeadLinear({"classifier", hidden, architecture.labels, true}, "classifier");
  } else {
    head.output = factory.MakeHead(table);
  }
  return head;
}

Value TraceEncoderLoss(Tracer& tracer, const Workload& workload, const EncoderHead& head, const Value& hidden,
                       const Value& labels) {
  const Architecture& architecture = workload.architecture;
  tracer.BeginSection(Moment::kLoss, -1, 1, 1);
  tracer.scope = {head.output.path, Term::kLogitsAndLoss, false};
  Value logits;
  if (architecture.labels > 0) {
    Value first = tracer.Narrow(hidden, {static_cast<double>(architecture.hidden_size), Axis::kSequences});
    const Value pooled = Pool(tracer, architecture, head, std::move(first));
    logits = Forward(tracer, head.output, pooled);
  } else {
    const Value states = Transform(tracer, head, hidden, kOnePerToken);
    logits = Forward(tracer, head.output, states);
  }
  Value loss = OwnCrossEntropy(tracer, logits, labels);
  const Value returned = ReturnedLogits(tracer, workload, logits);
  return loss;
}

}  // namespace tunefit
