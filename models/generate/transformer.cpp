// SPDX-License-Identifier: Apache-2.0
#include "models/generate/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/generate/layers.hpp"

namespace stretto::generate {

using graph::ParameterId;

namespace {

enum class Architecture : std::int64_t { Bert, Gpt };

constexpr std::int64_t kHeadWidth = 64;  // of BERT and GPT-2 in all sizes
constexpr std::int64_t kSegments = 2;
constexpr Names kGptDense{"w", "b"};
constexpr Names kGptNorm{"g", "b"};

struct Figures {
  Architecture architecture;
  std::int64_t layers, hidden, heads, inner, vocabulary, sequence, positions, predictions, batch;

  double tokens() const { return static_cast<double>(batch) * static_cast<double>(sequence); }
  double values() const { return tokens() * static_cast<double>(hidden); }
  double scores() const { return tokens() * static_cast<double>(sequence) * static_cast<double>(heads); }
};

Figures figures_of(const Values& v) {
  Figures f{};
  f.architecture = static_cast<Architecture>(number(v, "architecture"));
  const bool bert = f.architecture == Architecture::Bert;
  f.layers = number(v, "layers");
  f.hidden = number(v, "hidden");
  f.heads = number_or(v, "heads", std::max<std::int64_t>(1, f.hidden / kHeadWidth));
  f.inner = number_or(v, "ffn", 4 * f.hidden);
  f.vocabulary = number_or(v, "vocabulary", bert ? 30'522 : 50'257);
  const std::int64_t published = bert ? 512 : 1024;
  f.sequence = number_or(v, "sequence", published);
  f.positions = number_or(v, "positions", std::max(f.sequence, published));
  f.predictions = number_or(v, "predictions", (15 * f.sequence + 99) / 100);
  f.batch = number(v, "batch");
  return f;
}

// softmax(q k' / sqrt(width of a head) + mask) v
Tensor attention(Tape& tape, const std::string& scope, const Figures& f, const Tensor& q, const Tensor& k,
                 const Tensor& v) {
  const double flops = 2 * f.values() * static_cast<double>(f.sequence);
  Tensor scores = batch_matmul(tape, scope + "/MatMul", q, k, flops, f.scores());
  scores = shift(tape, scope + "/add", scale(tape, scope + "/Mul", scores));
  return batch_matmul(tape, scope + "/MatMul_1", softmax(tape, scope + "/Softmax", scores), v, flops, f.values());
}

Tensor bert_layer(Tape& tape, const std::string& scope, const Figures& f, const Tensor& x) {
  const std::int64_t h = f.hidden;
  const std::string self = scope + "/attention/self";
  const Tensor q = dense(tape, self + "/query", x, h, h);
  const Tensor k = dense(tape, self + "/key", x, h, h);
  const Tensor v = dense(tape, self + "/value", x, h, h);
  const std::string output = scope + "/attention/output";
  const Tensor projected = dense(tape, output + "/dense", attention(tape, self, f, q, k, v), h, h);
  const Tensor middle = normalize(tape, output + "/LayerNorm", sum(tape, output + "/add", projected, x), h);
  Tensor inner = dense(tape, scope + "/intermediate/dense", middle, h, f.inner);
  inner = activate(tape, scope + "/intermediate/dense/Gelu", inner);
  const Tensor out = dense(tape, scope + "/output/dense", inner, f.inner, h);
  return normalize(tape, scope + "/output/LayerNorm", sum(tape, scope + "/output/add", out, middle), h);
}

graph::Graph bert(const Figures& f) {
  Tape tape;
  const std::int64_t h = f.hidden;
  const std::string embeddings = "bert/embeddings";
  const ParameterId words = tape.variable(embeddings + "/word_embeddings", f.vocabulary * h);
  const ParameterId segments = tape.variable(embeddings + "/token_type_embeddings", kSegments * h);
  const ParameterId positions = tape.variable(embeddings + "/position_embeddings", f.positions * h);
  Tensor x = embed(tape, embeddings + "/GatherV2", words, f.values(), 1, TableGradient::Dense);
  // A one-hot product, as in the original.
  const Tensor segment = matmul(tape, embeddings + "/MatMul", tape.input(static_cast<double>(kSegments) * f.tokens()),
                                segments, kSegments, h);
  x = sum(tape, embeddings + "/add", x, segment);
  x = add_table(tape, embeddings + "/add_1", x, positions, static_cast<double>(f.sequence * h));
  x = normalize(tape, embeddings + "/LayerNorm", x, h);
  for (std::int64_t i = 0; i < f.layers; ++i) x = bert_layer(tape, fmt::format("bert/encoder/layer_{}", i), f, x);

  const auto firsts = static_cast<double>(f.batch * h);
  Tensor pooled = dense(tape, "bert/pooler/dense", pick(tape, "bert/pooler/StridedSlice", x, firsts), h, h);
  pooled = activate(tape, "bert/pooler/dense/Tanh", pooled);

  const std::string cls = "cls/predictions";
  Tensor masked = pick(tape, cls + "/GatherV2", x, static_cast<double>(f.batch * f.predictions * h));
  masked = activate(tape, cls + "/transform/dense/Gelu", dense(tape, cls + "/transform/dense", masked, h, h));
  masked = normalize(tape, cls + "/transform/LayerNorm", masked, h);
  const ParameterId offsets = tape.variable(cls + "/output_bias", f.vocabulary);
  const Tensor logits =
      bias(tape, cls + "/BiasAdd", matmul(tape, cls + "/MatMul", masked, words, h, f.vocabulary), offsets);
  const Tensor words_loss = loss(tape, cls + "/SoftmaxCrossEntropyWithLogits", logits);
  const Tensor next = dense(tape, "cls/seq_relationship", pooled, h, 2, {"output_weights", "output_bias"});
  const Tensor next_loss = loss(tape, "cls/seq_relationship/SoftmaxCrossEntropyWithLogits", next);
  return tape.finish(sum(tape, "loss/add", words_loss, next_loss));
}

Tensor gpt_layer(Tape& tape, const std::string& scope, const Figures& f, const Tensor& x) {
  const std::int64_t h = f.hidden;
  const Tensor normal = normalize(tape, scope + "/ln_1", x, h, kGptNorm);
  const Tensor qkv = dense(tape, scope + "/attn/c_attn", normal, h, 3 * h, kGptDense);
  const std::vector<Tensor> heads = split(tape, scope + "/attn/split", qkv, 3);
  const Tensor mixed = attention(tape, scope + "/attn", f, heads[0], heads[1], heads[2]);
  const Tensor middle = sum(tape, scope + "/add", dense(tape, scope + "/attn/c_proj", mixed, h, h, kGptDense), x);
  Tensor inner =
      dense(tape, scope + "/mlp/c_fc", normalize(tape, scope + "/ln_2", middle, h, kGptNorm), h, f.inner, kGptDense);
  inner = activate(tape, scope + "/mlp/Gelu", inner);
  return sum(tape, scope + "/add_1", dense(tape, scope + "/mlp/c_proj", inner, f.inner, h, kGptDense), middle);
}

graph::Graph gpt(const Figures& f) {
  Tape tape;
  const std::int64_t h = f.hidden;
  const ParameterId positions = tape.variable("model/wpe", f.positions * h);
  const ParameterId words = tape.variable("model/wte", f.vocabulary * h);
  Tensor x = embed(tape, "model/GatherV2", words, f.values(), 1, TableGradient::Dense);
  x = add_table(tape, "model/add", x, positions, static_cast<double>(f.sequence * h));
  for (std::int64_t i = 0; i < f.layers; ++i) x = gpt_layer(tape, fmt::format("model/h{}", i), f, x);
  x = normalize(tape, "model/ln_f", x, h, kGptNorm);
  const Tensor logits = matmul(tape, "model/MatMul", x, words, h, f.vocabulary);
  return tape.finish(loss(tape, "loss/SoftmaxCrossEntropyWithLogits", logits));
}

}  // namespace

std::vector<Field> transformer_fields() {
  return {
      {"architecture",
       "bert: normalised after each part, predicts masked words; gpt: before it, predicts every word; "
       "bert if left out",
       0,
       1,
       {0},
       FieldKind::Choice,
       1,
       "bert gpt"},
      {"layers", "blocks of attention and the network behind it; 24 if left out", 1, 1'000, {24}},
      {"hidden", "width of the layers; 1024 if left out", 1, 1'000'000, {1024}},
      {"heads", "of the attention, a divisor of hidden; hidden / 64 if left out", 1, 10'000},
      {"ffn", "width inside the network behind the attention; 4 x hidden if left out", 1, 10'000'000},
      {"vocabulary", "words; 30522 (bert) or 50257 (gpt) if left out", 1, 10'000'000},
      {"sequence", "words of a sample; 512 (bert) or 1024 (gpt) if left out", 1, 1'000'000},
      {"positions",
       "rows of their table, at least sequence; the larger of sequence and 512 (bert) or 1024 (gpt) if "
       "left out",
       1, 1'000'000},
      {"predictions",
       "bert: words of a sample that are masked and predicted; 15 % of sequence, rounded up, if left out", 1,
       1'000'000},
      {"batch", "samples per worker and step; 8 if left out", 1, 1'000'000, {8}},
  };
}

std::vector<Problem> check_transformer(const Values& values) {
  const Figures f = figures_of(values);
  std::vector<Problem> problems;
  const bool given = values.contains("heads");
  if (f.hidden % f.heads != 0)
    problems.push_back({given ? "heads" : "hidden",
                        fmt::format("{} heads{} do not share a width of {} evenly", f.heads,
                                    given ? "" : fmt::format(" (hidden / {})", kHeadWidth), f.hidden),
                        given ? "a divisor of hidden" : "say heads: a divisor of hidden"});
  if (f.positions < f.sequence)
    problems.push_back({"positions", fmt::format("{} positions for a sequence of {}", f.positions, f.sequence),
                        "at least sequence, or leave positions out"});
  if (values.contains("predictions") && f.architecture == Architecture::Gpt)
    problems.push_back({"predictions", "gpt predicts every word", "leave it out, or say architecture: bert"});
  else if (f.predictions > f.sequence)
    problems.push_back({"predictions", fmt::format("{} words of a sequence of {}", f.predictions, f.sequence),
                        "valid: 1 to sequence"});
  return problems;
}

Generated make_transformer(const Values& values) {
  const Figures f = figures_of(values);
  const bool is_bert = f.architecture == Architecture::Bert;
  Generated made{is_bert ? bert(f) : gpt(f), {}};
  made.graph.name = fmt::format("{}_{}x{}", is_bert ? "bert" : "gpt", f.layers, f.hidden);
  made.graph.batch = f.batch;
  return made;
}

}  // namespace stretto::generate
