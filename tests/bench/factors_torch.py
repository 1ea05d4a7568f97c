#!/usr/bin/env python3
"""Compares the processor time of updates on one thread, here and in PyTorch: updates of the Sparse VAE and of a VAE.

    factors_torch.py build/tests/bench/factors_epoch

The two programs take turns, so that both run in the same state of the machine. Needs python3-torch."""
import json
import statistics
import subprocess
import sys
import time

import torch

torch.set_num_threads(1)
PROGRAM = sys.argv[1]


class SparseVae(torch.nn.Module):
    """Computes all (row, feature) pairs at once, as motifd does. The published program loops over the features."""

    def __init__(self, features, latent, hidden):
        super().__init__()
        linear, relu = torch.nn.Linear, torch.nn.ReLU
        self.encoder = torch.nn.Sequential(linear(features, hidden), relu(), linear(hidden, hidden), relu())
        self.mean, self.log_variance = linear(hidden, latent), linear(hidden, latent)
        self.decoder = torch.nn.Sequential(linear(latent, hidden, bias=False), relu(), linear(hidden, hidden), relu())
        self.mask = torch.nn.Parameter(torch.randn(features, latent))
        self.head = torch.nn.Parameter(torch.randn(features, hidden) * hidden**-0.5)
        self.bias = torch.nn.Parameter(torch.zeros(features))

    def loss(self, x, penalty):
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        rows = (z[:, None, :] * self.mask[None]).reshape(-1, z.shape[1])
        h = self.decoder(rows).reshape(x.shape[0], x.shape[1], -1)
        y = (h * self.head[None]).sum(2) + self.bias
        rec = -(x * torch.log(torch.softmax(y, 1) + 1e-6)).sum(1).mean()
        kl = -0.5 * (1 + log_variance - mean**2 - torch.exp(log_variance)).mean()
        return rec + kl + (penalty * self.mask.abs()).sum() / x.shape[0]


def theirs(features, latent, hidden, batch):
    torch.manual_seed(1)
    model = SparseVae(features, latent, hidden)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)
    x = (torch.rand(batch, features) < 0.1).float()
    penalty = torch.full((features, latent), 5.0)

    def update():
        began = time.process_time()
        adam.zero_grad()
        model.loss(x, penalty).backward()
        adam.step()
        return time.process_time() - began

    update()
    return update


def ours(model, features, latent, hidden, batch, updates, *anchors):
    done = subprocess.run([PROGRAM, model, *map(str, (features, latent, hidden, batch, updates, *anchors))],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def vae_of_theirs(features, latent, hidden, batch):
    """The VAE with which the paper compares its Sparse VAE, at the size of its Fig. 6."""
    torch.manual_seed(1)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    encoder = torch.nn.Sequential(linear(features, hidden), relu(), linear(hidden, hidden), relu())
    heads = linear(hidden, latent), linear(hidden, latent)
    decoder = torch.nn.Sequential(linear(latent, hidden, bias=False), relu(), linear(hidden, hidden), relu(), linear(hidden, features))
    adam = torch.optim.Adam([p for m in (encoder, *heads, decoder) for p in m.parameters()], lr=1e-4)
    x = (torch.rand(batch, features) < 0.1).float()

    def update():
        began = time.process_time()
        adam.zero_grad()
        h = encoder(x)
        mean, log_variance = heads[0](h), heads[1](h)
        y = decoder(mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean))
        rec = -(x * torch.log(torch.softmax(y, 1) + 1e-6)).sum(1).mean()
        (rec - 0.5 * (1 + log_variance - mean**2 - torch.exp(log_variance)).mean()).backward()
        adam.step()
        return time.process_time() - began

    update()
    return update


def median(seconds):
    return statistics.median(seconds)


def main():
    small = 300, 30, 300, 100
    update = theirs(*small)
    mine, rounded, peer = [], [], []
    for _ in range(3):
        mine.append(ours("sparse-vae", *small, 1)["seconds"])
        rounded.append(ours("sparse-vae", *small, 1, "bf16")["seconds"])
        peer.append(update())
    b = median(peer)
    for name, a in ("float", median(mine)), ("bf16", median(rounded)):
        print(f"G 300, K 30, H 300, batch 100, {name}: {a:.3f} s an update, PyTorch {b:.3f} s: {b / a:.2f} times as fast")

    large = 1000, 50, 300, 100
    update = vae_of_theirs(*large)
    vae, peer = [], []
    for _ in range(3):
        vae.append(ours("vae", *large, 9)["seconds"])
        peer.append(median([update() for _ in range(9)]))
    a, b = median(vae), median(peer)
    print(f"G 1000, K 50: a VAE's update {a:.4f} s, PyTorch's {b:.4f} s")
    for name, words in (
        ("dense, float", ["float"]),
        ("dense, bf16", ["bf16"]),
        ("zeros skipped, all features on one factor", ["float", 1, 0]),
        ("80 % on one, 20 % on two", ["float", 0.8, 0]),
        ("all on two", ["float", 0, 0]),
        ("80 % on one, 15 % on two, 5 % on three", ["float", 0.8, 0.05]),
    ):
        seconds = ours("sparse-vae", *large, 3 if len(words) > 1 else 1, *words)["seconds"]
        print(f"{name}: {seconds:.4f} s, {seconds / a:.1f} of our VAE's, {seconds / b:.1f} of PyTorch's")


main()
