// SPDX-License-Identifier: Apache-2.0
#include "app/pick_sweep.hpp"

#include <fmt/format.h>

#include <vector>

#include "sim/base/diagnostic.hpp"

namespace stretto::app {

study::SweepInfo pick_sweep(study::Store& store, const std::string& option, const std::string& text) {
  const std::vector<study::SweepInfo> all = store.sweeps();
  if (all.empty()) throw UserError(fmt::format("results store '{}' is empty", store.path()));
  if (text.empty()) return all.back();
  std::vector<study::SweepInfo> found;
  for (const study::SweepInfo& s : all)
    if (std::to_string(s.id) == text || s.name == text || (text.size() >= 6 && s.hash.starts_with(text)))
      found.push_back(s);
  if (found.size() == 1) return found.front();
  const std::string hint = fmt::format("`stretto results list {}` shows their numbers", store.path());
  if (found.empty()) throw UserError(fmt::format("{}: there is no sweep '{}'", option, text), hint);
  throw UserError(fmt::format("{}: {} sweeps are '{}'", option, found.size(), text), hint);
}

}  // namespace stretto::app
