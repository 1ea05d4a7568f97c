/* Predictions of the paper's limit of many features (arXiv:2410.12101, sections 2 and 3), in closed form or by
 * one-dimensional quadrature.
 *
 * A feature x_i is 0 with probability 1 - p, otherwise uniform in [0, 1]. There are n_s features and n_d = r n_s
 * dimensions, so W = decoder x encoder has rank n_d. Output i is f(W_ii x_i + interference + b). In the limit the
 * interference is Gaussian, and the bias b absorbs its mean. The standard deviation of the interference, divided by
 * W_ii, is at least sigma(p, r) (eq. 6). The paper's artificial weights (rug.h) reach this bound. Everything therefore
 * depends on one number y = x + sigma g with a standard normal g.
 *
 * Losses are means over features and samples of the squared error. Functions are pure and safe on any thread; p in (0,
 * 1], r in (0, 1]. */
#ifndef MOTIF_CORE_SUPERPOSED_THEORY_H
#define MOTIF_CORE_SUPERPOSED_THEORY_H

/* Var x = p/3 - p^2/4, with E x^2 = p/3. */
double theory_variance(double p);
/* Smallest deviation of the interference: sqrt(Var x (1/r - 1)), eq. (6) with equality. */
double theory_sigma(double p, double r);

/* Returns the mean squared error of ReLU(a x + m + s g) as an estimate of a feature x. The feature is above 0 with
 * probability p, and g is standard normal. a > 0: diagonal entry of W. m: total offset. s >= 0: standard deviation of
 * the interference. */
double theory_loss(double a, double m, double s, double p);

/* The best ReLU model at interference sigma: x' = scale ReLU(y + offset). Eq. (16) gives the scale; a one-dimensional
 * search finds the offset. */
struct theory_optimum {
    double sigma;
    double offset; /* beta, which is added before scaling */
    double scale;  /* the factor a */
    double loss;
};
struct theory_optimum theory_optimum(double p, double sigma);

/* Loss of the best linear model of rank n_d >= 1, with or without an offset: (1 - r) Var x. */
double theory_linear(double p, double r);
/* Loss of the best linear model as the authors' code computes it: p/3 (n_s - n_d - 1) / n_s. */
double theory_linear_printed(double p, int n_s, int n_d);

/* Lower bound of the loss for every function of y alone: E Var[x | y]. */
double theory_bayes(double p, double sigma);
/* Lower bound of the loss for every function of y that also knows which features are on: p E Var[u | y, on], where u is
 * the value of a feature that is on. Appendix D estimates this value (theory_oracle_printed()). */
double theory_oracle(double p, double sigma);
/* The estimate of Appendix D, as printed in the paper: p C P(y in [sigma, 1 - sigma] | on) sigma^2 with C = erf(1/sqrt
 * 2) (1 - 2 phi(1) / erf(1/sqrt 2)). NaN for sigma > 1/4, where the estimate does not hold. */
double theory_oracle_printed(double p, double sigma);
/* The limit for r -> 0 as printed in the paper: p/3 - p^2/9. The true limit is theory_variance(). */
double theory_blind_printed(double p);
/* Loss of a model that the paper does not contain: pairs of features share a dimension with opposite signs, and each of
 * the other features has a dimension of its own. The model makes an error only if both features of a pair are on: the
 * loss is 2 (1 - r) p^2 / 6. For r >= 1/2 and any number of features; NaN for smaller r. The interference of this model
 * is not Gaussian, so the bounds above do not hold for it. */
double theory_pairs(double p, double r);

/* The upper bound of eqs. (11) to (13), computed without their approximations: the loss for a = 1 and an offset of
 * -sigma sqrt(2 ln(1/p)). */
double theory_upper(double p, double sigma);

/* The best line above a threshold: x' = slope y + intercept where y > cut, else 0. This is the optimum of a thresholded
 * ReLU, of a gate and, if `share` of the features are kept, of a k-sparse activation. */
struct theory_cut {
    double cut; /* threshold on y */
    double slope, intercept;
    double share; /* P(y > cut) */
    double loss;
};
struct theory_cut theory_cut(double p, double sigma);

/* P(D > d) for the Kolmogorov-Smirnov distance d of n samples from a known distribution (asymptotic series with
 * Stephens' correction). */
double theory_kolmogorov(double d, int n);
double theory_normal_below(double z); /* Phi(z), the standard normal distribution function */

#endif
