#include "predict/capacity.hpp"

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <map>

namespace breakeven::predict {

Chat parse_chat(const std::string& text) {
  Chat chat;
  const std::map<std::string, std::int64_t Chat::*> keys = {{"system", &Chat::system_tokens},
                                                            {"user", &Chat::user_tokens},
                                                            {"reply", &Chat::reply_tokens},
                                                            {"turns", &Chat::turns}};
  for (const std::string& part : split(text, ',')) {
    const auto sign = part.find('=');
    const auto key = keys.find(part.substr(0, sign));
    if (sign == std::string::npos || key == keys.end())
      throw error(error_kind::usage, "--chat '" + printable(text) +
                                         "': expected system=4000,user=100,reply=300,turns=20");
    const std::string value = part.substr(sign + 1);
    chat.*(key->second) = value == "0" ? 0 : parse_tokens(value, "--chat " + key->first);
  }
  constexpr std::int64_t most = std::int64_t{1} << 24;
  if (chat.turns < 1 || chat.turns > 100000 || chat.system_tokens > most ||
      chat.user_tokens > most || chat.reply_tokens > most)
    throw error(error_kind::usage,
                "--chat '" + printable(text) + "': from 1 to 100,000 turns of at most 16m tokens");
  return chat;
}

ChatCost chat_cost(const Chat& chat, const Roofline& roofline, std::int64_t chunk_tokens) {
  ChatCost cost;
  std::int64_t before = 0; // tokens of the turns so far
  for (std::int64_t turn = 0; turn < chat.turns; ++turn) {
    const std::int64_t fresh =
        turn == 0 ? chat.system_tokens + chat.user_tokens : chat.reply_tokens + chat.user_tokens;
    cost.last_new = fresh;
    cost.last_prompt = before + fresh;
    cost.prefilled_uncached += cost.last_prompt;
    cost.prefilled_cached += fresh;
    before += fresh;
  }
  cost.last_uncached_s = roofline.prefill_s(0, cost.last_prompt, chunk_tokens);
  cost.last_cached_s =
      roofline.prefill_s(cost.last_prompt - cost.last_new, cost.last_new, chunk_tokens);
  return cost;
}

} // namespace breakeven::predict
