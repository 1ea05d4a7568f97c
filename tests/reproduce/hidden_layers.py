#!/usr/bin/env python3
"""Trains dictionaries on hidden layers of models that motifd has trained, and compares the latents with what is known of the inputs.

    hidden_layers.py URL [--models g,sparse-vae,rug] [--samples 1000000] [--pictures FOLDER] [--g JOB] [--sparse-vae JOB] [--rug JOB]

The models: g of a digitcircle-quick-presence job (its 16 channels before the last convolution, at positions of 300 images), the encoder of a
Sparse VAE of the preset synthetic (its second hidden layer, 50 units), and an autoencoder of 128 features in 48 dimensions (superposition, its
bottleneck). Without the options --g, --sparse-vae and --rug the script trains them. It downloads the weights, computes the hidden layer in NumPy,
asserts that the rest of the model then gives the daemon's own answers, uploads the layer, and trains three dictionaries from different initial weights.
Needs NumPy and SciPy, and Matplotlib for --pictures."""
import argparse
import json
import pathlib
import struct
import sys

import numpy as np
from scipy.optimize import linear_sum_assignment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import motifd  # noqa: E402

FIGURES = ("explained_variance", "l0", "dead", "pw_mcc", "recurring", "worth", "overlap_omp")
IMAGES, POSITIONS, PATCH, ROWS = 300, 40, 8, 20000


def weights_of(job):
    """The latest checkpoint's arrays by name, read as the safetensors format defines them."""
    data = job.client.request("GET", f"/v1/jobs/{job.id}/checkpoints/latest", headers={"Accept": "application/octet-stream"}).body
    (length,) = struct.unpack_from("<Q", data)
    head, types = json.loads(data[8:8 + length]), {"F32": "<f4", "F64": "<f8", "I64": "<i8"}
    return {name: np.frombuffer(data[8 + length + item["data_offsets"][0]:8 + length + item["data_offsets"][1]], types[item["dtype"]]).reshape(item["shape"])
            for name, item in head.items() if name != "__metadata__" and item["dtype"] in types}


def model(options, client, name, kind, preset, config):
    known = getattr(options, name.replace("-", "_"))
    job = client.job(known) if known else client.submit(kind, {**config, "threads": 1}, preset)
    return job.wait(progress=False)


def dictionary(options, rows, groups, ids, width, l0):
    sae = motifd.Dictionary(options.url, n_components=width, l0=l0, seeds=3, batch=256, total_samples=options.samples, progress=False,
                            config={"learning_rate": 1e-3, "threads": 1})
    sae.fit(rows, groups=groups, ids=ids)
    print({name: round(sae.result_[name], 3) for name in FIGURES if sae.result_[name] is not None}, sae.verdict_, "job", sae.job_.id, flush=True)
    guarantees(sae, rows)
    return sae


def guarantees(sae, rows):
    """How many of the first 200 codes have one latent, for how many POST /v1/pathways/recover gives a guarantee, and the dictionary's coherence."""
    job, single, certain, count, layer = sae.job_, 0, 0, 0, {}
    for row in rows[:200]:
        code = job.ask("encode", {"inputs": [{"array": row.tolist()}]})["answers"][0]["latents"]
        if code:
            body = {"job": job.id, "length": 1, "code": [[0, one["latent"], one["value"]] for one in code]}
            answer = json.loads(job.client.request("POST", "/v1/pathways/recover", body).body)
            layer, count = answer["layers"][0], count + 1
            single, certain = single + (len(code) == 1), certain + (answer["guarantee"] != "none")
    print(f"{certain} of {count} codes are guaranteed, {single} have one latent; coherence {layer['coherence']:.3f}, Welch floor {layer['welch_floor']:.3f}")


def recurring(sae):
    return {latent["latent"] for latent in sae.latents_ if (latent["recurs"] or 0) >= 0.7 and latent["rate"] > 0}


def strongest(sae, latent):
    """The most frequent group among a latent's strongest rows, and its share."""
    groups = [row["group"] for row in sae.latent(latent)["strongest"]]
    top = max(set(groups), key=groups.count) if groups else ""
    return top, groups.count(top), len(groups)


# ---- g of digitcircle --------------------------------------------------------------------------------------------------------------------


def convolve(x, weight, bias):
    """x: [rows][cols][channels], weight: [out][in][height][width]; the borders are zeros."""
    high, wide = weight.shape[2] // 2, weight.shape[3] // 2
    padded = np.pad(x, ((high, high), (wide, wide), (0, 0)))
    parts = (padded[i:i + x.shape[0], j:j + x.shape[1]] @ weight[:, :, i, j].T for i in range(weight.shape[2]) for j in range(weight.shape[3]))
    return sum(parts) + bias


def normalise(w, name, x):
    gain, shift = (w.get(name + part, float(part == ".weight")) for part in (".weight", ".bias"))
    return (x - w[name + ".running_mean"]) / np.sqrt(w[name + ".running_var"] + 1e-5) * gain + shift


def read_image(w, image):
    """The hidden layer before the last convolution, [rows][cols][16], and the motif map."""
    x, unit = convolve(image[..., None], w["g.first.weight"], w["g.first.bias"]), 0
    while f"g.units.{unit}.conv1.weight" in w:
        at, y = f"g.units.{unit}.", x
        for half in "12":
            y = convolve(np.maximum(normalise(w, f"{at}norm{half}", y), 0), w[f"{at}conv{half}.weight"], w[f"{at}conv{half}.bias"])
        x, unit = x + y, unit + 1
    scores = normalise(w, "sparse.norm", convolve(x, w["g.last.weight"], w["g.last.bias"]))
    return x, np.maximum(scores - w["sparse.threshold"].reshape(-1), 0)


def hidden_of_g(job):
    """Rows of the hidden layer with their names: each motif of g, 40 positions in true boxes and 40 elsewhere, for each image."""
    w, rng, rows, groups, ids, patches = weights_of(job), np.random.default_rng(1), [], [], [], []
    for first in range(0, IMAGES, 50):
        inputs = {"inputs": [{"sample": {"seed": seed}} for seed in range(first, first + 50)]}
        maps = job.ask("motifs", inputs, "application/x-npy") if first == 0 else None
        for at, answer in enumerate(job.ask("motifs", inputs)["answers"]):
            image = np.array(answer["input"]["values"], np.float32).reshape(answer["shape"][:2])
            x, motifs = read_image(w, image)
            assert maps is None or abs(motifs - maps[at]).max() < 1e-3 * max(1, maps[at].max()), "the hidden layer is not that of the daemon's model"
            truth = np.full(image.shape, "", dtype=object)
            for symbol in answer["truth"]:
                r0, r1, c0, c1 = symbol["box"]
                truth[r0:r1, c0:c1] = symbol["symbol"]
            marked = np.argwhere(motifs.max(2) > 0)
            inside, outside = np.argwhere(truth != ""), np.argwhere(truth == "")
            picked = np.concatenate([marked, rng.choice(inside, POSITIONS), rng.choice(outside, POSITIONS)])
            padded = np.pad(image, PATCH)
            for r, c in picked:
                where = f"digit {truth[r, c]}" if truth[r, c] else "elsewhere"
                rows.append(x[r, c])
                groups.append(where + (", motif" if motifs[r, c].max() > 0 else ""))
                ids.append(f"image {first + at} at {r},{c} ({len(rows)})")
                patches.append(padded[r:r + 2 * PATCH + 1, c:c + 2 * PATCH + 1])
    return np.array(rows, np.float32), groups, ids, np.array(patches)


def show_patches(path, patches, codes, latents, titles):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(len(latents), 9, figsize=(11, 1.25 * len(latents)), squeeze=False)
    for row, latent, title in zip(axes, latents, titles):
        order = np.argsort(-codes[:, latent])[:64]
        for cell, picture in zip(row, [patches[order].mean(0), *patches[order[:64:8]]]):
            cell.imshow(picture, cmap="gray_r", vmin=0, vmax=1)
            cell.plot(PATCH, PATCH, "+", color="tab:red", markersize=6)
            cell.set(xticks=[], yticks=[])
        row[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=8)
    axes[0][0].set_title("mean of 64", fontsize=8)
    axes[0][4].set_title("eight of the 64 strongest positions", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def study_g(options, client):
    job = model(options, client, "g", "sparling", "digitcircle-quick-presence", {})
    rows, groups, ids, patches = hidden_of_g(job)
    print(f"g: {len(rows)} rows of {rows.shape[1]} channels")
    marked = np.array([name.endswith("motif") for name in groups])
    digits = sorted({name[:7] for name in groups if name.startswith("digit")})
    of = {f"{digit}, motif": np.array(groups) == f"{digit}, motif" for digit in digits}
    of |= {"digit": ~marked & np.array([name.startswith("digit") for name in groups]), "elsewhere": np.array(groups) == "elsewhere"}
    for width, l0 in ((32, 3), (8, 2)):
        sae = dictionary(options, rows, groups, ids, width, l0)
        codes, worth, recur, titles, shown = sae.transform(rows), set(sae.worth_), recurring(sae), [], []
        print("latent, recurs, worth, share of rows in which it is active:", *of, "; best digit by F1 among g's motifs")
        for latent in sorted(range(width), key=lambda j: (j not in worth, j not in recur, -(codes[:, j] > 0).mean())):
            on = codes[:, latent] > 0
            score = {digit: 2 * (on & of[f"{digit}, motif"]).sum() / ((on & marked).sum() + of[f"{digit}, motif"].sum()) for digit in digits}
            top = max(score, key=score.get)
            print(latent, "recurs" if latent in recur else "-", "worth" if latent in worth else "-", *(f"{on[rows_of].mean():.2f}" for rows_of in of.values()),
                  f"{top} {score[top]:.2f}", "strongest: %s (%d of %d)" % strongest(sae, latent))
            shown.append(latent)
            titles.append(f"{latent} {'worth' if latent in worth else 'recurs' if latent in recur else ''}")
        if options.pictures:
            show_patches(pathlib.Path(options.pictures) / ("dictionary-digitcircle.png" if width == 8 else "dictionary-digitcircle-wide.png"), patches, codes, shown[:12], titles)


# ---- the encoder of a Sparse VAE ---------------------------------------------------------------------------------------------------------


def study_sparse_vae(options, client):
    job = model(options, client, "sparse-vae", "factors", "synthetic", {"restarts": 3})
    w, rng = weights_of(job), np.random.default_rng(1)
    z = rng.normal(size=(ROWS, 2))
    means = np.stack([z[:, 0], 2 * z[:, 0], 3 * z[:, 0]**2, 4 * z[:, 1], 5 * z[:, 1], 6 * np.sin(z[:, 1]), 7 * z[:, 0] * z[:, 1]], 1)
    hidden = means + rng.normal(0, 0.5, means.shape)
    x = hidden.astype(np.float32)
    for layer in ("encoder.0", "encoder.1"):
        hidden = np.maximum(hidden @ w[layer + ".weight"].T + w[layer + ".bias"], 0)
    code = hidden[:100] @ w["mean.weight"].T + w["mean.bias"]
    asked = np.concatenate(list(job.ask_array("encode", x[:100])))
    assert abs(asked - code).max() < 1e-2 * max(1, abs(code).max()), "the hidden layer is not that of the daemon's model"
    which = abs(z).argmax(1)
    groups = [f"z{k + 1} {'above' if value[k] > 0 else 'below'} 0" for k, value in zip(which, z)]
    print(f"sparse-vae: {len(hidden)} rows of {hidden.shape[1]} units, of which {(hidden > 0).any(0).sum()} are ever active")
    sae = dictionary(options, hidden.astype(np.float32), groups, [str(at) for at in range(ROWS)], 32, 3)
    codes, worth, recur = sae.transform(hidden.astype(np.float32)), set(sae.worth_), recurring(sae)
    truth = {f"{sign}z{k + 1}": np.maximum(z[:, k] * (1 if sign == "+" else -1), 0) for k in range(2) for sign in "+-"}
    truth |= {f"{a}{b}": np.maximum(z[:, 0] * (1 if a == "+" else -1), 0) * np.maximum(z[:, 1] * (1 if b == "+" else -1), 0) for a in "+-" for b in "+-"}
    for latent in sorted(range(codes.shape[1]), key=lambda j: (j not in worth, j not in recur, -(codes[:, j] > 0).mean())):
        if not codes[:, latent].any():
            continue
        score = {name: np.corrcoef(values, codes[:, latent])[0, 1] for name, values in truth.items()}
        top = max(score, key=score.get)
        print(latent, "recurs" if latent in recur else "-", "worth" if latent in worth else "-", f"active in {(codes[:, latent] > 0).mean():.3f}",
              f"correlation {score[top]:.2f} with {top}", "strongest: %s (%d of %d)" % strongest(sae, latent))
    if options.pictures:
        show_plane(pathlib.Path(options.pictures) / "dictionary-sparse-vae.png", z, codes, sorted(recur, key=lambda j: (j not in worth, j))[:8], worth)


def show_plane(path, z, codes, latents, worth):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(2, 4, figsize=(11, 5.6), squeeze=False, sharex=True, sharey=True)
    for cell in axes.flat[len(latents):]:
        cell.axis("off")
    for cell, latent in zip(axes.flat, latents):
        cell.scatter(z[:4000, 0], z[:4000, 1], c=codes[:4000, latent], s=4, cmap="viridis")
        cell.set_title(f"latent {latent}{' (worth)' if latent in worth else ''}", fontsize=9)
    figure.supxlabel("factor z1")
    figure.supylabel("factor z2")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


# ---- the bottleneck of an autoencoder ----------------------------------------------------------------------------------------------------


def study_rug(options, client):
    job = model(options, client, "rug", "superposition", None, {"n_s": 128, "n_d": 48, "p": 0.03, "learning_rate": 1e-2, "stop": "never", "batch": 256,
                                                                 "total_samples": 700000, "test_samples": 5000})
    w, rng = weights_of(job), np.random.default_rng(1)
    x = (rng.random((ROWS, 128)) * (rng.random((ROWS, 128)) < 0.03)).astype(np.float32)
    hidden = x @ w["encoder"]
    output = np.maximum(hidden[:100] @ w["decoder"].T + w["bias"], 0)
    asked = np.concatenate(list(job.ask_array("predict", x[:100])))
    assert abs(asked - output).max() < 1e-4, "the hidden layer is not that of the daemon's model"
    groups = [f"feature {row.argmax()}" if row.any() else "no feature" for row in x]
    print(f"rug: {len(hidden)} rows of {hidden.shape[1]} dimensions")
    sae = dictionary(options, hidden, groups, [str(at) for at in range(ROWS)], 128, 4)
    zero = np.zeros((1, 128), np.float32)
    rows = sae.inverse_transform(np.eye(128, dtype=np.float32)) - sae.inverse_transform(zero)
    unit = w["encoder"] / np.linalg.norm(w["encoder"], axis=1, keepdims=True)
    cosine = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ unit.T
    pair = linear_sum_assignment(-abs(cosine))
    print(f"MCC with the {len(unit)} directions of the encoder: {abs(cosine)[pair].mean():.3f}")
    worth, recur, own = set(sae.worth_), recurring(sae), cosine.max(1)
    for name, latents in (("are worth an interpretation", worth), ("recur but are not worth", recur - worth), ("do not recur", set(range(128)) - recur)):
        chosen = sorted(latents)
        purity = [strongest(sae, latent) for latent in chosen]
        if chosen:
            print(f"{len(chosen)} latents that {name}: mean cosine with the nearest direction {own[chosen].mean():.3f},",
                  f"at least .9: {(own[chosen] >= 0.9).sum()};",
                  f"different features {len(set(cosine[chosen].argmax(1)))};",
                  f"strongest rows of one feature {np.mean([count / total for _, count, total in purity if total]):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--models", default="g,sparse-vae,rug")
    parser.add_argument("--samples", type=int, default=1000000)
    for name in ("pictures", "g", "sparse-vae", "rug"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    studies, client = {"g": study_g, "sparse-vae": study_sparse_vae, "rug": study_rug}, motifd.Client(options.url)
    for name in options.models.split(","):
        studies[name](options, client)


if __name__ == "__main__":
    main()
