#include "verify/forecast.hpp"

#include "breakeven/admission.hpp"

namespace breakeven::verify {

Forecast::Forecast(const profile::BreakEvenFile& file)
    : m_policy(parse_policy(profile::to_json_text(file))) {}

double Forecast::load_s(std::size_t tier, std::int64_t tokens) const {
  LoadPart part;
  const Segment segment{TierId(static_cast<int>(tier)), Tokens(tokens), 1};
  part.set(*m_policy.policy, segment, 0, 0, tokens, 0);
  return part.load_s(tokens);
}

double Forecast::prefill_s(std::int64_t context, std::int64_t new_tokens) const {
  return m_policy.policy->curve().prefill_s(context, new_tokens);
}

double Forecast::hit_s(const Question& question) const {
  return load_s(question.tier, question.cached) +
         prefill_s(question.cached, question.prompt - question.cached);
}

bool Forecast::load_wins(const Question& question) const {
  return hit_s(question) < prefill_s(0, question.prompt);
}

bool Forecast::decides_load(const Question& question) const {
  const Query query(Tokens(question.prompt), TierId(static_cast<int>(question.tier)),
                    Tokens(question.cached));
  return decide(*m_policy.policy, query).load;
}

} // namespace breakeven::verify
