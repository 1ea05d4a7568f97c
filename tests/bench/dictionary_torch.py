#!/usr/bin/env python3
"""A training step of a BatchTopK autoencoder in PyTorch, as SAELens computes it, beside `motifd bench dictionary-step`.

    dictionary_torch.py MOTIFD [--width 4096] [--threads 2] [--batch 4096] [--rounds 5] [--seconds 5]

The two programs take turns. Both use 768 inputs, 32 active latents, Adam, and a gradient norm of at most 1. Prints the times of each round and the ratio
of the medians. Needs Debian's python3-torch."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
import torch  # noqa: E402

D, K = 768, 32


def torch_step(width, batch, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x = torch.randn(batch, D)
    decoder = torch.randn(width, D)
    decoder = torch.nn.Parameter(0.1 * decoder / decoder.norm(dim=1, keepdim=True))
    encoder = torch.nn.Parameter(decoder.detach().clone().T.contiguous())
    encoder_bias, bias = torch.nn.Parameter(torch.zeros(width)), torch.nn.Parameter(torch.zeros(D))
    weights = [encoder, encoder_bias, decoder, bias]
    adam = torch.optim.Adam(weights, lr=3e-4)

    def step():
        adam.zero_grad()
        h = torch.relu((x - bias) @ encoder + encoder_bias)
        top = torch.topk(h.flatten(), K * batch, sorted=False)
        a = torch.zeros_like(h.flatten()).scatter(0, top.indices, top.values).reshape(h.shape)
        loss = ((a @ decoder + bias - x) ** 2).sum(1).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motifd")
    parser.add_argument("--width", type=int, choices=(4096, 16384), default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time, for one thread on a busy machine")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    step = torch_step(options.width, options.batch, options.threads)
    step()
    ours, theirs = [], []
    for number in range(options.rounds):
        name = "dictionary-step" if options.width == 4096 else "dictionary-wide"
        words = [options.motifd, "bench", name, "--threads", str(options.threads), "--seconds", str(options.seconds), "--json"]
        if options.batch != 4096:
            words += ["--batch", str(options.batch)]
        if options.cpu:
            words += ["--clock", "processor"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        ours.append(json.loads(done.stdout)["step"]["median_ms"])
        took, begun = [], time.perf_counter()
        while not took or time.perf_counter() - begun < options.seconds:
            at = clock()
            step()
            took.append(1e3 * (clock() - at))
        theirs.append(statistics.median(took))
        print(f"round {number}: motifd {ours[-1]:.0f} ms, PyTorch {torch.__version__} {theirs[-1]:.0f} ms, ratio {theirs[-1] / ours[-1]:.2f}", file=sys.stderr, flush=True)
    mine, his = statistics.median(ours), statistics.median(theirs)
    print(json.dumps({"width": options.width, "batch": options.batch, "threads": options.threads, "motifd_ms": mine, "torch_ms": his,
                      "ratio": his / mine}))


main()
