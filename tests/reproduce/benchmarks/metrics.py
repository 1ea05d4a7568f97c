"""Metrics of places. Ties count by expectation: a place in a group of equal scores has the mean relevance of the group."""
import numpy as np


def average_precision(truth, score):
    """Sum of (R_k - R_k-1) P_k over falling distinct thresholds; NaN without a true place. Constant scores give the prevalence."""
    truth, score = np.asarray(truth, bool).ravel(), np.asarray(score, float).ravel()
    if not truth.any():
        return np.nan
    order = np.argsort(-score, kind="stable")
    truth, score = truth[order], score[order]
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    right = np.cumsum(truth)[last]
    return float((np.diff(np.append(0, right)) / truth.sum() * right / (last + 1)).sum())


def auroc(truth, score):
    """Probability that a positive has the larger score; a tie counts half."""
    truth, score = np.asarray(truth, bool), np.asarray(score, float)
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    positive = int(truth.sum())
    return float((rank[truth].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def expected_relevance(truth, score):
    """The relevance of each rank, from the largest score on."""
    truth, score = np.asarray(truth, float).ravel(), np.asarray(score, float).ravel()
    _, group = np.unique(-score, return_inverse=True)
    mean = np.bincount(group, truth) / np.bincount(group)
    return mean[np.sort(group)]


def ndcg(truth, score):
    """NDCG@n, with n the number of true places."""
    n = int(np.sum(truth))
    weight = 1 / np.log2(np.arange(n) + 2)
    return float((expected_relevance(truth, score)[:n] * weight).sum() / weight.sum())


def precision_at(truth, score, n):
    """Share of true places among the n largest scores; a score of 0 is never taken, and the divisor stays n."""
    score = np.asarray(score, float).ravel()
    relevance = expected_relevance(np.asarray(truth, float).ravel() * (score != 0), np.where(score != 0, score, -np.inf))
    return float(relevance[:n].sum() / n)
