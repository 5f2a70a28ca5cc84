#!/usr/bin/env python3
"""What the server adds to the engine, a request and a streamed token: bench/server_overhead.py [--threads N] [--json FILE]

A request's part: a client on a kept connection asks for one token, again and again; its time less the engine's own (queue,
prefill and decode, from /metrics). A token's part: one long streamed answer, its time a token less that of `tonnage bench` on the
same model. The model is so small that the engine takes next to nothing. The client is Python with a bare socket, and its time
counts as the server's. Rounds alternate; medians."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from serving import Server, make_chat_model  # noqa: E402


def ask(sock, body):
    """The whole answer to a POST on a kept connection, streamed or not."""
    data = json.dumps(body).encode()
    sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n" % len(data) + data)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += sock.recv(1 << 16)
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), answer
    pieces = [rest]
    if b"chunked" in head:
        while not pieces[-1].endswith(b"0\r\n\r\n"):
            pieces.append(sock.recv(1 << 16))
    else:
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while sum(map(len, pieces)) < length:
            pieces.append(sock.recv(1 << 16))
    return b"".join(pieces)


def engine_seconds(server):
    return sum(server.metric(f"tonnage_{part}_seconds_sum") for part in ("queue", "prefill", "decode"))


def request_overhead(server, requests):
    body = {"model": server.model, "prompt": "Hello", "max_tokens": 1, "temperature": 0, "ignore_eos": True}
    with server.connect() as sock:
        for _ in range(20):
            ask(sock, body)
        engine, begun = engine_seconds(server), time.perf_counter()
        for _ in range(requests):
            ask(sock, body)
        wall = time.perf_counter() - begun
    return (wall - (engine_seconds(server) - engine)) / requests


def streamed_token_seconds(server, tokens):
    body = {"model": server.model, "prompt": "Hello", "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True}
    with server.connect() as sock:
        ask(sock, body | {"max_tokens": 50})
        begun = time.perf_counter()
        answer = ask(sock, body)
        wall = time.perf_counter() - begun
    assert answer.count(b"data: [DONE]") == 1
    return wall / tokens


def engine_token_seconds(program, model, tokens, threads):
    run = subprocess.run([program, "bench", model, "--prompt", "6", "--generate", str(tokens), "--repeat", "1", "--json", "--no-bounds",
                          "--context", "8192", "--threads", str(threads)], capture_output=True, text=True, check=True)
    return 1 / json.loads(run.stdout)["decode_tokens_per_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tonnage", default=str(ROOT / "build" / "tonnage"))
    parser.add_argument("--threads", type=int, default=1, help="of the engine; with one a core, the server has none to itself")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    folder, model = make_chat_model(ROOT)
    rounds = []
    with Server(args.tonnage, model, "--context", 8192, "--slots", 1, "--threads", args.threads, "--quiet") as server:
        for _ in range(args.rounds):
            engine = engine_token_seconds(args.tonnage, model, args.tokens, args.threads)
            rounds.append((request_overhead(server, args.requests), streamed_token_seconds(server, args.tokens), engine))
    request, streamed, engine = (statistics.median(column) for column in zip(*rounds))
    token = statistics.median(s - e for _, s, e in rounds)
    figures = {"request_overhead_us": round(request * 1e6, 1), "streamed_token_overhead_us": round(token * 1e6, 2),
               "streamed_token_us": round(streamed * 1e6, 2), "engine_token_us": round(engine * 1e6, 2)}
    print(json.dumps(figures))
    if args.json:
        args.json.write_text(json.dumps({"command": " ".join(["bench/server_overhead.py", *sys.argv[1:]]), "threads": args.threads, "rounds": args.rounds,
                                         "requests": args.requests, "tokens": args.tokens} | figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
