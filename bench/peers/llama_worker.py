"""llama.cpp on the CPU: steps of llama-3.2-1b with random bf16 weights, as llama-bench's pp with a
depth. Writes the model file itself (2.5 GB, kept with the peers)."""

import ctypes
import os
import struct
import sys
import time
from pathlib import Path

import llama_cpp
import numpy as np
from protocol import LLAMA_3_2_1B, serve

THREADS = int(sys.argv[1])
FOLDER = Path(os.environ["BREAKEVEN_PEERS_DIR"])
BF16, F32 = 30, 0  # ggml type numbers
D = LLAMA_3_2_1B


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_value(value):
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_string(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    return struct.pack("<II", 4, value)


def tensors():
    """(name, dimensions with the contiguous one first, type) of every weight."""
    h, m, kv = D["hidden"], D["intermediate"], D["kv_heads"] * D["head_dim"]
    yield "token_embd.weight", (h, D["vocabulary"]), BF16
    yield "output_norm.weight", (h,), F32
    for i in range(D["layers"]):
        for name, shape in (("attn_q", (h, h)), ("attn_k", (h, kv)), ("attn_v", (h, kv)),
                            ("attn_output", (h, h)), ("ffn_gate", (h, m)), ("ffn_up", (h, m)),
                            ("ffn_down", (m, h))):
            yield f"blk.{i}.{name}.weight", shape, BF16
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{i}.{name}.weight", (h,), F32


def write_model(path):
    """A GGUF file, version 3: header, metadata, tensor table, data aligned to 32 bytes."""
    facts = {"general.architecture": "llama", "general.name": "random llama-3.2-1b",
             "general.file_type": 32, "tokenizer.ggml.model": "no_vocab",
             "llama.vocab_size": D["vocabulary"], "llama.context_length": 131072,
             "llama.embedding_length": D["hidden"], "llama.block_count": D["layers"],
             "llama.feed_forward_length": D["intermediate"],
             "llama.attention.head_count": D["heads"],
             "llama.attention.head_count_kv": D["kv_heads"],
             "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 500000.0,
             "llama.rope.dimension_count": D["head_dim"]}
    table = list(tensors())
    generator = np.random.default_rng(1)
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(table), len(facts)))
        for key, value in facts.items():
            file.write(gguf_string(key) + gguf_value(value))
        offset = 0
        for name, shape, kind in table:
            file.write(gguf_string(name) + struct.pack("<I", len(shape)))
            file.write(struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, offset))
            offset += (int(np.prod(shape)) * (2 if kind == BF16 else 4) + 31) // 32 * 32
        file.write(b"\0" * (-file.tell() % 32))
        for name, shape, kind in table:
            values = generator.random(int(np.prod(shape)), dtype=np.float32)
            values = (values - 0.5) * np.float32(0.05) if kind == BF16 else values + np.float32(0.5)
            data = (values.view(np.uint32) >> 16).astype(np.uint16) if kind == BF16 else values
            file.write(data.tobytes())
            file.write(b"\0" * (-data.nbytes % 32))
    temporary.rename(path)


def load():
    path = FOLDER / "llama-3.2-1b-random-bf16.gguf"
    if not path.exists():
        write_model(path)
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(str(path).encode(),
                                                 llama_cpp.llama_model_default_params())
    if not model:
        raise RuntimeError("llama.cpp did not load the model file")
    return model


MODEL = []


class Session:
    def __init__(self, model, context, new):
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = context + new + 256
        params.n_batch = max(new, 512)
        params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = THREADS
        self.handle = llama_cpp.llama_init_from_model(model, params)
        if not self.handle:
            raise RuntimeError("llama.cpp made no context")
        self.batch = llama_cpp.llama_batch_init(params.n_batch, 0, 1)
        self.most = params.n_batch
        self.random = np.random.default_rng(2)
        self.fill(context)

    def decode(self, first, count):
        tokens = self.random.integers(0, D["vocabulary"], count)
        self.batch.n_tokens = count
        for i in range(count):
            self.batch.token[i] = int(tokens[i])
            self.batch.pos[i] = first + i
            self.batch.n_seq_id[i] = 1
            self.batch.seq_id[i][0] = 0
            self.batch.logits[i] = i == count - 1
        start = time.perf_counter()
        if llama_cpp.llama_decode(self.handle, self.batch) != 0:
            raise RuntimeError("llama_decode failed")
        llama_cpp.llama_synchronize(self.handle)
        return time.perf_counter() - start

    def fill(self, context):
        """Computes the context once and keeps it beside the model: minutes on a small machine."""
        if context == 0:
            return
        path = str(FOLDER / f"llama-3.2-1b-random-context-{context}.state").encode()
        capacity = context
        tokens = (llama_cpp.llama_token * capacity)()
        read = ctypes.c_size_t(0)
        if os.path.exists(path) and llama_cpp.llama_state_seq_load_file(
                self.handle, path, 0, tokens, capacity, ctypes.byref(read)) != 0:
            return
        for first in range(0, context, self.most):
            self.decode(first, min(self.most, context - first))
        llama_cpp.llama_state_seq_save_file(self.handle, path, 0, tokens, 0)

    def run(self, context, new):
        memory = llama_cpp.llama_get_memory(self.handle)
        llama_cpp.llama_memory_seq_rm(memory, 0, context, -1)
        return self.decode(context, new)


def step(r):
    if not MODEL:
        MODEL.append(load())
    session = Session(MODEL[0], r["context"], r["new"])
    return lambda: session.run(r["context"], r["new"])


serve(lambda r: {"step": step}[r["op"]](r))
