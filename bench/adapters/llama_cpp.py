"""llama.cpp through llama-cpp-python, in this process."""
import time

import llama_cpp
import numpy as np

from . import side_by_side


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, model, threads, context):
        self.version = f"llama-cpp-python {llama_cpp.__version__}"
        self.batches = {}  # by requests and tokens
        self.model = llama_cpp.Llama(str(model), n_ctx=context, n_batch=512, n_ubatch=512, n_threads=threads,
                                     n_threads_batch=threads, flash_attn=True, verbose=False)

    def greedy(self, ids, count):
        self.model.reset()
        out = []
        for token in self.model.generate(ids, temp=0.0, repeat_penalty=1.0):
            out.append(int(token))
            if len(out) == count:
                return out
        return out

    def prefill(self, ids):
        self.model.reset()
        start = time.perf_counter()
        self.model.eval(ids)
        return len(ids) / (time.perf_counter() - start)

    def decode(self, ids, count):
        self.model.reset()
        self.model.eval(ids)
        # The raw logits of the last position, as eval() leaves them: sampling costs neither engine anything here.
        vocab = self.model.n_vocab()
        pointer = llama_cpp.llama_get_logits_ith
        token = ids[-1]
        start = time.perf_counter()
        for _ in range(count):
            self.model.eval([token])
            logits = np.ctypeslib.as_array(pointer(self.model.ctx, -1), shape=(vocab,))
            token = int(logits.argmax())
        return count / (time.perf_counter() - start)

    def batch(self, ids, requests, count):
        key = requests, len(ids) + count
        if key not in self.batches:
            self.batches[key] = Batch(self.model, *key)
        return self.batches[key].decode(side_by_side(ids, requests), count)


class Batch:
    """A context of its own over the model's weights, with a sequence a request."""

    def __init__(self, model, requests, tokens):
        self.vocab = model.n_vocab()
        params = type(model.context_params).from_buffer_copy(model.context_params)
        params.n_seq_max = requests
        params.n_ctx = requests * (-(-(tokens + 1) // 256) * 256)  # whole blocks of a sequence's cache
        self.context = llama_cpp.llama_init_from_model(model.model, params)
        self.step = llama_cpp.llama_batch_init(max(512, requests), 0, 1)

    def _compute(self, rows):
        """rows: (token, position, sequence); the likeliest next token of each."""
        self.step.n_tokens = len(rows)
        for i, (token, position, sequence) in enumerate(rows):
            self.step.token[i], self.step.pos[i] = token, position
            self.step.n_seq_id[i], self.step.seq_id[i][0], self.step.logits[i] = 1, sequence, 1
        if llama_cpp.llama_decode(self.context, self.step) != 0:
            raise RuntimeError("llama_decode failed")
        logits = (llama_cpp.llama_get_logits_ith(self.context, i) for i in range(len(rows)))
        return [int(np.ctypeslib.as_array(row, shape=(self.vocab,)).argmax()) for row in logits]

    def decode(self, prompts, count):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        tokens = [self._compute([(token, i, sequence) for i, token in enumerate(prompt)])[-1]
                  for sequence, prompt in enumerate(prompts)]
        start = time.perf_counter()
        for step in range(count):
            tokens = self._compute([(token, len(prompts[0]) + step, sequence) for sequence, token in enumerate(tokens)])
        return len(prompts) * count / (time.perf_counter() - start)
