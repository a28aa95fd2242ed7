"""torch on the CPU: scaled_dot_product_attention, and llama-3.2-1b steps through transformers."""

import sys
import time

import torch
import torch.nn.functional as F
from protocol import LLAMA_3_2_1B, serve

torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(0)
torch.set_grad_enabled(False)


def random(*shape):
    return torch.empty(*shape, dtype=torch.bfloat16).uniform_(-1, 1)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def attention(r):
    """The fastest of the ways to ask torch for bottom-right causal GQA."""
    new, keys = r["new"], r["context"] + r["new"]
    q = random(1, r["heads"], new, r["dim"])
    k, v = random(1, r["kv_heads"], keys, r["dim"]), random(1, r["kv_heads"], keys, r["dim"])
    group = r["heads"] // r["kv_heads"]
    k_all, v_all = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    seen = torch.ones(new, keys, dtype=torch.bool).tril(r["context"])
    mask = torch.zeros(new, keys, dtype=torch.bfloat16).masked_fill(~seen, float("-inf"))
    mask = mask[None, None]
    ways = [lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True),
            lambda: F.scaled_dot_product_attention(q, k_all, v_all, attn_mask=mask)]
    if r["context"] == 0:
        ways.append(lambda: F.scaled_dot_product_attention(q, k_all, v_all, is_causal=True))
    for way in ways:
        way()
    best = min(ways, key=lambda way: min(timed(way) for _ in range(3)))
    return lambda: timed(best)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    d = LLAMA_3_2_1B
    config = LlamaConfig(
        hidden_size=d["hidden"], num_hidden_layers=d["layers"], num_attention_heads=d["heads"],
        num_key_value_heads=d["kv_heads"], head_dim=d["head_dim"],
        intermediate_size=d["intermediate"], vocab_size=d["vocabulary"], rope_theta=500000.0,
        max_position_embeddings=131072, tie_word_embeddings=True, attn_implementation="sdpa")
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    model = LlamaForCausalLM(config).eval()
    torch.set_default_dtype(default)
    return model


MODEL = []


def step(r):
    from transformers import DynamicCache
    if not MODEL:
        MODEL.append(llama())
    model, d, context = MODEL[0], LLAMA_3_2_1B, r["context"]
    tokens = torch.randint(0, d["vocabulary"], (1, r["new"]))
    prefix = [(random(1, d["kv_heads"], context, d["head_dim"]),
               random(1, d["kv_heads"], context, d["head_dim"])) for _ in range(d["layers"])]

    def run():
        cache = DynamicCache()
        if context:
            for layer, (k, v) in enumerate(prefix):
                cache.update(k.clone(), v.clone(), layer)
        return timed(lambda: model(tokens, past_key_values=cache, use_cache=True,
                                   logits_to_keep=1))
    return run


serve(lambda r: {"attention": attention, "step": step}[r["op"]](r))
