#!/usr/bin/env python3
"""An update of the Sparse VAE beside the same in PyTorch, and beside a VAE's, in processor time of one thread.

    factors_torch.py build/tests/bench/factors_epoch

Ours and theirs take turns, so that both meet the machine in the same state. Needs python3-torch."""
import json
import statistics
import subprocess
import sys
import time

import torch

torch.set_num_threads(1)
PROGRAM = sys.argv[1]


class SparseVae(torch.nn.Module):
    """All (row, feature) pairs in one product, as ours: the published program loops over the features."""

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


def main():
    update = theirs(300, 30, 300, 100)
    mine, peer = [], []
    for _ in range(3):
        mine.append(ours("sparse-vae", 300, 30, 300, 100, 1)["seconds"])
        peer.append(update())
    a, b = statistics.median(mine), statistics.median(peer)
    print(f"G 300, K 30, H 300, batch 100: {a:.3f} s an update, PyTorch {b:.3f} s: {b / a:.2f} times as fast")
    vae = ours("vae", 1000, 50, 300, 100, 9)["seconds"]
    sparse = ours("sparse-vae", 1000, 50, 300, 100, 1)["seconds"]
    print(f"G 1000, K 50: {sparse:.3f} s an update, VAE {vae:.4f} s: {sparse / vae:.1f} times a VAE's cost")
    for anchors in (0.8, 0.95, 1.0):
        skip = ours("sparse-vae", 1000, 50, 300, 100, 1, anchors)["seconds"]
        print(f"G 1000, zeros skipped, {100 * anchors:.0f} % anchors: {skip:.3f} s: {skip / vae:.1f} times")


main()
