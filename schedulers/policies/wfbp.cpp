// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/wfbp.hpp"

namespace stretto::policies {

plan::Order make_wfbp(const PolicyInput&, const PolicyOptions&) { return {}; }

}  // namespace stretto::policies
