#include "cli/verbs.hpp"

#include "support/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace breakeven::cli {

const registry<Verb>& verbs() {
  static const registry<Verb> table = [] {
    registry<Verb> rows("verb");
    rows.add("calibrate", {"measure this node and write a break-even file", add_calibrate});
    rows.add("show", {"print a break-even file", add_show});
    rows.add("check", {"decide for one prompt: exit 0 load, 1 recompute", add_check});
    rows.add("verify", {"try on this node whether a break-even file still holds", add_verify});
    rows.add("doctor", {"look for what spoils measurements or slows loads here", add_doctor});
    rows.add("model",
             {"a model's KV cache, layers, parameters and FLOPs from its config", add_model});
    rows.add("predict", {"answer from published hardware figures, without measuring", add_predict});
    rows.add("plan", {"size memory, drives and prefill for a load, without measuring", add_plan});
    rows.add("report", {"draw break-even files: a page to look at, or a picture", add_report});
    rows.add("import", {"make a break-even file of another tool's measurements", add_import});
    rows.add("compare", {"has a node changed? two break-even files, for people and CI", add_compare});
    rows.add("fleet", {"many nodes of one kind: outliers, why, and one policy for all", add_fleet});
    return rows;
  }();
  return table;
}

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0)
    throw error(error_kind::environment,
                std::string("cannot write to standard output: ") + std::strerror(errno));
}

} // namespace breakeven::cli
