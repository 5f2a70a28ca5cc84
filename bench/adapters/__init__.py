"""One adapter an engine. Each has: name, version, greedy(ids, count) -> ids, and in tokens/s: prefill(ids),
decode(ids, count) behind those ids, batch(ids, requests, count) for so many requests side by side. Prompts are the ids that
the caller gives, so that every engine does the same work."""


def side_by_side(ids, requests):
    """A prompt a request, each beginning elsewhere, so that experts are not chosen alike; as `tonnage bench` does it."""
    return [ids[i % len(ids):] + ids[:i % len(ids)] for i in range(requests)]
