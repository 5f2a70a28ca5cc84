"""llama.cpp through llama-cpp-python, in this process."""
import time

import llama_cpp
import numpy as np


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, model, threads, context):
        self.version = f"llama-cpp-python {llama_cpp.__version__}"
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
