#!/usr/bin/env python3
"""Writes tests/fixtures/torch_step_{post,pre}.pack: one training step of a small SPARLING network in PyTorch.

    /usr/bin/python3 tests/reproduce/torch_step.py tests/fixtures     # Debian: python3-torch

The network has two parts, built from stock layers with dropout 0: g (1x1 convolution, two residual units, 1x1
convolution, affine batch norm, sparse layer with a threshold for each channel) and h (embedding with max pooling, row
BiLSTM, sine positions, transformer encoder and decoder, linear). PyTorch computes in double precision from values that
float represents exactly, so that the test can compare both builds of the core with the file. The file is a snapshot
(core/base/snapshot.h). For each array it contains value.NAME and grad.NAME, and in the post-norm variant after.NAME. NAME
is the core's name of the array. The file also contains input.* and result.*.
"""
import math
import struct
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

IMAGES, SIZE, WIDTH, UNITS, MOTIFS, POOL = 3, 20, 6, 2, 5, 4
CHANNELS, HEADS, FEED, LAYERS, TOKENS, LENGTH = 8, 2, 12, 2, 7, 5
DENSITY, MOMENTUM, RATE = 0.3, 0.9, 1e-3


class Unit(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(WIDTH), nn.BatchNorm2d(WIDTH)
        self.conv1 = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))


class Network(nn.Module):
    def __init__(self, pre):
        super().__init__()
        self.first, self.last = nn.Conv2d(1, WIDTH, 1), nn.Conv2d(WIDTH, MOTIFS, 1)
        self.units = nn.ModuleList(Unit() for _ in range(UNITS))
        self.norm = nn.BatchNorm2d(MOTIFS)
        self.register_buffer("threshold", torch.zeros(MOTIFS))
        self.embed = nn.Conv2d(MOTIFS, CHANNELS, 1)
        self.rows = nn.LSTM(CHANNELS, CHANNELS // 2, bidirectional=True, batch_first=True)
        sizes = dict(d_model=CHANNELS, nhead=HEADS, dim_feedforward=FEED, dropout=0.0, batch_first=True, norm_first=pre)
        final = [nn.LayerNorm(CHANNELS) if pre else None for _ in range(2)]
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**sizes), LAYERS, final[0])
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), LAYERS, final[1])
        self.tokens, self.out = nn.Embedding(TOKENS, CHANNELS), nn.Linear(CHANNELS, TOKENS)

    def motifs(self, x):
        x = self.first(x)
        for unit in self.units:
            x = unit(x)
        z = self.norm(self.last(x))
        with torch.no_grad():
            flat = z.permute(1, 0, 2, 3).reshape(MOTIFS, -1)
            rank = max(1, int(flat.shape[1] * (1.0 - DENSITY)))
            self.threshold.mul_(MOMENTUM).add_((1.0 - MOMENTUM) * flat.kthvalue(rank, dim=1)[0])
        return F.relu(z - self.threshold[None, :, None, None])

    def forward(self, x, tokens):
        x = F.max_pool2d(self.embed(self.motifs(x)), POOL)
        n, c, h, w = x.shape
        x = self.rows(x.permute(0, 2, 3, 1).reshape(n * h, w, c))[0].reshape(n, h, w, c)
        x = (x + sines(h)[None, :, None]).reshape(n, h * w, c)
        y = self.tokens(tokens) + sines(LENGTH)[None]
        causal = torch.triu(torch.full((LENGTH, LENGTH), float("-inf"), dtype=torch.float64), 1)
        return self.out(self.decoder(y, self.encoder(x), tgt_mask=causal))


def sines(rows):
    rate = torch.exp(torch.arange(0, CHANNELS, 2).double() * (-math.log(1e4) / CHANNELS))
    table = torch.zeros(rows, CHANNELS, dtype=torch.float64)
    angle = torch.arange(rows).double()[:, None] * rate
    table[:, 0::2], table[:, 1::2] = torch.sin(angle), torch.cos(angle)
    return table


def renamed(name):
    """Returns the core's names of an array: [(name, first row, last row)]. The core splits some of PyTorch's packed arrays."""
    for ours, theirs in (("self_attn", "self"), ("multihead_attn", "cross"), ("linear1", "up"), ("linear2", "down"),
                         (".out_proj", ".out"), ("encoder.norm", "encoder.final"), ("decoder.norm", "decoder.final")):
        name = name.replace(ours, theirs)
    name = name.replace(".layers.", ".")
    if name.startswith("encoder."):
        name = name.replace(".self.", ".attention.")
    if ".in_proj_" not in name:
        return [(name, None, None)]
    head, kind = name.split(".in_proj_")
    if head.endswith("cross"):
        return [(f"{head}.q.{kind}", 0, CHANNELS), (f"{head}.kv.{kind}", CHANNELS, 3 * CHANNELS)]
    return [(f"{head}.qkv.{kind}", 0, 3 * CHANNELS)]


def write(path, entries):
    header, data = [], b""
    for name, tensor in entries:
        values = tensor.detach().float().contiguous()
        shape = list(values.shape)
        raw = values.numpy().astype("<f4").tobytes()
        data += b"\0" * (-len(data) % 64)
        header.append(struct.pack("<96sBBB5x4QQQ", name.encode(), 1, 3, len(shape), *(shape + [1] * (4 - len(shape))),
                                  len(data), len(raw)))
        data += raw
    head = struct.pack("<8sIIQ", b"MOTIFPK1", len(header), 0, len(data)) + b"".join(header)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 64) + data)


def make(path, pre):
    torch.manual_seed(11)
    network = Network(pre).double()
    with torch.no_grad():
        for name, p in network.named_parameters():
            if "norm" in name:  # with the initial values 1 and 0, the test could not show whether the core uses these arrays
                p.add_(0.3 * torch.randn_like(p))
            p.copy_(p.float())
    images = torch.randn(IMAGES, 1, SIZE, SIZE).double()
    tokens = torch.randint(0, TOKENS, (IMAGES, LENGTH + 1))
    targets = tokens[:, 1:].clone()
    targets[1, 3:] = -100
    entries = [("input.images", images[:, 0]), ("input.tokens", tokens[:, :-1]), ("input.targets", targets)]
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    logits = network(images, tokens[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, TOKENS), targets.reshape(-1))
    loss.backward()
    optimiser.step()
    for name, p in network.named_parameters():
        for ours, first, last in renamed(name):
            entries.append((f"value.{ours}", before[name][first:last]))
            entries.append((f"grad.{ours}", p.grad[first:last]))
            if not pre:
                entries.append((f"after.{ours}", p[first:last]))
    entries += [("result.loss", loss), ("result.logits", logits), ("result.threshold", network.threshold),
                ("result.running_mean", network.units[0].norm2.running_mean),
                ("result.running_var", network.units[0].norm2.running_var)]
    write(path, entries)


if __name__ == "__main__":
    for variant in ("post", "pre"):
        make(f"{sys.argv[1]}/torch_step_{variant}.pack", variant == "pre")
