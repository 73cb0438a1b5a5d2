// SPDX-License-Identifier: Apache-2.0
// Generator of recommenders: DLRM (Naumov et al. 2019, arXiv:1906.00091; github.com/facebookresearch/dlrm,
// dlrm_s_pytorch.py).
//
// T tables of r_i rows of d values; q lookups in each per sample, whose rows are added up. A bottom network of dense
// layers takes c dense features to a vector of d values; a top network takes what the T + 1 vectors of a sample give to
// the answer. Each layer but the last one of the top network is followed by a ReLU.
//   interaction dot      the products of all pairs, T (T + 1) / 2, behind the bottom network's vector:
//                        k = d + T (T + 1) / 2 values for the top network. All (T + 1)^2 products are computed, with
//                        2 (T + 1)^2 d operations a sample
//   interaction concat   all vectors one after the other: k = (bottom network's last width) + T d values
//   variables            sum of r_i d in the tables; from x to y: x y + y in each dense layer
//   forward operations   2 x y a sample of each dense layer, and the interaction's
// Tables are sparse: a step pulls, pushes and updates the rows that its lookups touch (touched_share), each once; the
// indices that go with them are not counted. Their gradients are the touched rows'. Everything else is dense.
// Left out: the loading of features, and the optimizer (the servers have it).
#pragma once

#include <vector>

#include "models/generate/generator.hpp"

namespace stretto::generate {

std::vector<Field> recommender_fields();
std::vector<Problem> check_recommender(const Values& values);
Generated make_recommender(const Values& values);

}  // namespace stretto::generate
