"""One adapter an engine. Each has: name, version, greedy(ids, count) -> ids, prefill(tokens) -> tokens/s,
decode(context, tokens) -> tokens/s. Prompts are the ids that the caller gives, so that every engine does the same work."""
