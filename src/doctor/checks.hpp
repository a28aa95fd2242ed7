#pragma once

#include "doctor/doctor.hpp"

#include <string>
#include <vector>

/// The checks; each is defined in the file of its theme.
namespace breakeven::doctor {

std::vector<Finding> check_io_uring(const Context& context);
std::vector<Finding> check_locked_memory(const Context& context);
std::vector<Finding> check_directories(const Context& context);
std::vector<Finding> check_drives(const Context& context);
std::vector<Finding> check_numa(const Context& context);
std::vector<Finding> check_links(const Context& context);
std::vector<Finding> check_clocks(const Context& context);
std::vector<Finding> check_gpus(const Context& context);
std::vector<Finding> check_iommu(const Context& context);
std::vector<Finding> check_huge_pages(const Context& context);
std::vector<Finding> check_control_groups(const Context& context);
std::vector<Finding> check_neighbours(const Context& context);

/// Value of a "Key:\tvalue" row of /proc/self/status; "" = there is none.
std::string status_value(const Context& context, const std::string& key);
/// Whether this process has a capability, by its bit (linux/capability.h).
bool capable(const Context& context, unsigned bit);
/// CPUs or nodes in a list such as "0-3,8".
std::vector<int> numbers_of(const std::string& list);

} // namespace breakeven::doctor
