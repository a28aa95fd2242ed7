#pragma once

#include "cli/verb.hpp"

/// The add functions of the verbs; each is defined in the file of its name.
namespace breakeven::cli {

void add_calibrate(CLI::App& command, Outcome& outcome);
void add_show(CLI::App& command, Outcome& outcome);
void add_check(CLI::App& command, Outcome& outcome);
void add_verify(CLI::App& command, Outcome& outcome);
void add_doctor(CLI::App& command, Outcome& outcome);
void add_model(CLI::App& command, Outcome& outcome);
void add_predict(CLI::App& command, Outcome& outcome);
void add_plan(CLI::App& command, Outcome& outcome);
void add_report(CLI::App& command, Outcome& outcome);
void add_import(CLI::App& command, Outcome& outcome);
void add_compare(CLI::App& command, Outcome& outcome);
void add_fleet(CLI::App& command, Outcome& outcome);

} // namespace breakeven::cli
