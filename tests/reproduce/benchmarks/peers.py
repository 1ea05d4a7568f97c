"""What a user would write instead, in PyTorch. A peer trains with Adam on nine tenths of the samples until it has used as much processor time as motifd did, and
keeps the weights of the best validation.

- maximum: a network with a score for each name and position, and the maximum over positions; the scores are the places.
- gradient: a network that averages its features; places are the gradient of the name's logit times the input, summed over channels.
- grad-cam: the same network; places are its last features, weighted with their mean gradient, without the final ReLU.
"""
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class _Network(nn.Module):
    """Three convolutions with kernels of this shape; (1, 1) reads one position at a time."""

    def __init__(self, channels, names, kernel, width=32):
        super().__init__()
        sizes = (channels, width, width, width)
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers += [nn.Conv2d(a, b, kernel, padding="same"), nn.BatchNorm2d(b), nn.ReLU()]
        self.features, self.last = nn.Sequential(*layers), nn.Conv2d(width, names, 1)

    def forward(self, x):
        return self.last(self.features(x))


class _Peer:
    def __init__(self, seed, seconds):
        self.seed, self.seconds, self.verdict = seed, seconds, ""

    def pool(self, scores):
        return scores.mean((2, 3))

    def fit(self, x, y, names=None, groups=None, bags=False):
        """x: [n][channels][rows][cols], or [n][rows][cols] of one channel. y: classes, sets of names, or an array of flags."""
        torch.manual_seed(self.seed)
        self.classes = None
        if isinstance(y, np.ndarray) and y.ndim == 2:
            self.names, target = names, y.astype(np.float32)
        elif isinstance(y[0], (set, frozenset)):
            self.names = sorted(set().union(*y))
            target = np.array([[name in one for name in self.names] for one in y], np.float32)
        else:
            self.classes = self.names = sorted(set(y))
            target = np.array([[name == one for name in self.classes] for one in y], np.float32)
        x = self._planes(x)
        self.mean, self.deviation = x.mean((0, 2, 3), keepdims=True), x.std((0, 2, 3), keepdims=True) + 1e-6
        x, target = torch.tensor((x - self.mean) / self.deviation), torch.tensor(target)
        network = _Network(x.shape[1], target.shape[1], (1, 1) if bags else (1, 9) if x.shape[2] == 1 else (3, 3))
        order = torch.randperm(len(x))
        kept, held = order[len(x) // 10:], order[:len(x) // 10]
        optimiser, loss_of = torch.optim.AdamW(network.parameters(), 1e-3, weight_decay=.01), nn.BCEWithLogitsLoss()
        best, state, began = np.inf, None, time.process_time()
        while time.process_time() - began < self.seconds or state is None:
            for part in kept[torch.randperm(len(kept))].split(32):
                if len(part) > 1:
                    optimiser.zero_grad()
                    loss_of(self.pool(network(x[part])), target[part]).backward()
                    optimiser.step()
            network.eval()
            with torch.no_grad():
                loss = float(np.mean([loss_of(self.pool(network(x[part])), target[part]) for part in held.split(256)]))
            network.train()
            if loss < best:
                best, state = loss, {key: value.clone() for key, value in network.state_dict().items()}
        network.load_state_dict(state)
        self.network = network.eval()
        return self

    @staticmethod
    def _planes(x):
        x = np.asarray(x, np.float32)
        return x if x.ndim == 4 else x[:, None]

    def _in_parts(self, x):
        x = torch.tensor((self._planes(x) - self.mean) / self.deviation)
        return x.split(64)

    def bags(self, x):
        with torch.no_grad():
            return torch.cat([self.pool(self.network(part)) for part in self._in_parts(x)]).numpy()

    def labels(self, x):
        score = self.bags(x)
        return score > 0 if self.classes is None else [self.classes[at] for at in score.argmax(1)]


class Maximum(_Peer):
    name = "maximum"

    def pool(self, scores):
        return scores.amax((2, 3))

    def places(self, x):
        with torch.no_grad():
            return torch.cat([self.network(part) for part in self._in_parts(x)]).permute(0, 2, 3, 1).numpy()


class Gradient(_Peer):
    name = "gradient x input"

    def places(self, x):
        out = []
        for part in self._in_parts(x):
            part.requires_grad_(True)
            logits = self.pool(self.network(part)).sum(0)
            out.append(torch.stack([(torch.autograd.grad(one, part, retain_graph=True)[0] * part).sum(1) for one in logits], -1).detach())
        return torch.cat(out).numpy()


class GradCam(_Peer):
    name = "grad-cam"

    def places(self, x):
        with torch.no_grad():  # the network averages linear scores, so the mean gradient of a feature is its weight
            weight = self.network.last.weight[:, :, 0, 0]
            return torch.cat([torch.einsum("nfrc,kf->nrck", self.network.features(part), weight) for part in self._in_parts(x)]).numpy()


PEERS = (Maximum, Gradient, GradCam)
