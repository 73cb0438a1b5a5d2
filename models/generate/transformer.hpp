// SPDX-License-Identifier: Apache-2.0
// Generator of transformers: BERT (Devlin et al. 2018, arXiv:1810.04805; names, order of the variables and ops as in
// github.com/google-research/bert, modeling.py and run_pretraining.py) and GPT-2 (Radford et al. 2019;
// github.com/openai/gpt-2, model.py), with all variables of pre-training.
//
// L layers of width h, a heads, inner width f, vocabulary V, P positions, sequences of s, batch b, n = b s tokens.
//   variables of a layer    4 (h^2 + h) of the attention, 2 h f + f + h of the inner network, 4 h of two normalisations
//   bert   L of these, (V + P + 2) h + 2 h of embeddings (words, positions, two segments), h^2 + h of the pooler,
//          h^2 + 3 h + V to predict words, 2 h + 2 to predict whether a sentence is the next
//   gpt    L of these, (V + P) h of embeddings, 2 h of the last normalisation
//   forward operations of a layer's products: 2 n (4 h^2 + 2 h f) with weights, 4 n s h of the attention (scores and
//   their sums); of the words: 2 m h V, m the positions that are predicted: `predictions` of each sequence (bert; and
//   2 m h^2 before it), all of them (gpt). Backward: twice as many.
// For gpt with f = 4 h both passes together are 72 b s L h^2 (1 + s / (6 h) + V / (12 L h)) (Narayanan et al. 2021,
// arXiv:2104.04473, equation 3 without recomputation). The attention of gpt is computed whole and masked.
// The words' table is read at both ends of the network, and its gradient is complete only with the last op.
// Left out: dropout, transpositions, gathering of inputs, weight decay and the optimizer (the servers have it).
#pragma once

#include <vector>

#include "models/generate/generator.hpp"

namespace stretto::generate {

std::vector<Field> transformer_fields();
std::vector<Problem> check_transformer(const Values& values);
Generated make_transformer(const Values& values);

}  // namespace stretto::generate
