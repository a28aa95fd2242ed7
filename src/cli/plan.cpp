#include "cli/verbs.hpp"

#include "cli/plan_page.hpp"
#include "cli/prediction_options.hpp"
#include "predict/capacity.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <memory>
#include <optional>

namespace breakeven::cli {
namespace {

struct Options : PredictionOptions {
  predict::Store store;
  std::vector<std::string> drives;
  std::string users, context = "8k", hit_rate = "0.9", reuse_interval, requests_per_day;
  std::string memory, weights, device_memory, reserve, memory_share = "0.9", chat;
  bool json = false;
};

double bytes_or(const std::string& text, const char* what) {
  return text.empty() ? 0 : predict::parse_size(text, what);
}

predict::Load load_of(const Options& options) {
  predict::Load load;
  load.context_tokens = parse_tokens(options.context, "--context");
  load.hit_rate = options.hit_rate == "0" ? 0 : parse_fraction(options.hit_rate, "--hit-rate");
  if (!options.users.empty()) load.users = parse_count(options.users, "--users");
  if (!options.reuse_interval.empty())
    load.reuse_interval_s = parse_seconds(options.reuse_interval, "--reuse-interval");
  if (!options.requests_per_day.empty())
    load.requests_per_day =
        static_cast<double>(parse_count(options.requests_per_day, "--requests-per-day"));
  return load;
}

void run(Options& options, const std::vector<std::string>& argv) {
  const predict::Inputs inputs = predict::resolve(options.finish(argv));
  const predict::Load load = load_of(options);
  predict::Store& store = options.store;
  store.host_memory_bytes = bytes_or(options.memory, "--memory");
  for (const std::string& drives : options.drives)
    store.drives.push_back(predict::parse_drives(drives));
  store.weight_bytes = bytes_or(options.weights, "--weights");
  store.device_memory_bytes = bytes_or(options.device_memory, "--device-memory");
  store.device_reserve_bytes = bytes_or(options.reserve, "--reserve");
  store.device_memory_share =
      predict::parse_utilisation(options.memory_share, "--gpu-memory-utilization").value;
  const predict::CapacityPlan plan = predict::plan_capacity(inputs, load, store);
  std::optional<predict::ChatCost> chat;
  if (!options.chat.empty())
    chat = predict::chat_cost(predict::parse_chat(options.chat), inputs.roofline(),
                              inputs.request.chunk_tokens);
  print(options.json ? plan_json_text(inputs, load, plan, chat)
                     : plan_text(inputs, load, plan, chat));
}

} // namespace

void add_plan(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  options->add_model(command);
  options->add_node(command, true);
  command.add_option("--users", options->users, "users whose prefixes shall stay warm");
  command.add_option("--context", options->context, "tokens of a prompt; 8k is 8,192")
      ->capture_default_str();
  command.add_option("--hit-rate", options->hit_rate, "share of a prompt that is cached")
      ->capture_default_str();
  command.add_option("--reuse-interval", options->reuse_interval,
                     "time between two prompts of a user: 10m");
  command.add_option("--requests-per-day", options->requests_per_day, "prompts of all users a day");
  command.add_option("--memory", options->memory,
                     "host memory for KV caches: 2TB (1e12) or 512GiB (2^30)");
  command
      .add_option("--nvme", options->drives,
                  "drives by bundled name or size alone: 4xmicron-9550-pro, 4x30.72TB; again for "
                  "more")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--weights", options->weights,
                     "size of the weights (default: parameters by their type)");
  command.add_option("--device-memory", options->device_memory,
                     "memory of one device (default: as published)");
  command
      .add_option("--gpu-memory-utilization", options->memory_share,
                  "share of device memory that the engine may use")
      ->capture_default_str();
  command.add_option("--reserve", options->reserve,
                     "device memory for activations and graphs, each device: 3GiB");
  command.add_option("--fixed", options->fixed, "fixed cost of each load, such as 5ms")
      ->capture_default_str();
  command
      .add_option("--chunk-tokens", options->chunk_tokens,
                  "most tokens that the engine computes in one step")
      ->capture_default_str();
  command.add_option("--chat", options->chat,
                     "also cost a chat: system=4000,user=100,reply=300,turns=20");
  command.add_flag("--json", options->json, "print the plan as JSON");
  command.callback([options, &outcome] { run(*options, outcome.argv); });
}

} // namespace breakeven::cli
