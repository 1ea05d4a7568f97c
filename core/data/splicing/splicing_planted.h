/* Splicing with a known truth: motifs of affinity models planted into random RNA, and a rule that makes splice sites of
 * them.
 *
 * Two of the models are the cores that sites need: 5P (GT at the beginning of an intron) and 3P (AG at its end). The
 * others are proteins. A core becomes a site when the proteins bound within `reach` of it say so: each has an effect of
 * +1 or -1 on donors and on acceptors, one from upstream and another from downstream, and the sum must be above 0. So
 * the same protein may enhance a site from the exon and silence it from the intron, as SR proteins and hnRNPs do.
 *
 * What counts is not what was planted but what binds in the finished sequence: a planted word may be overwritten in
 * part by another (they fall anywhere, and overlap), and random bases bind now and then. So labels and motifs are
 * functions of the sequence, the same ones in any set.
 *
 * A sample is a pure function of the domain, the set's seed and the index. Any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_PLANTED_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_PLANTED_H

#include "core/data/box.h"
#include "core/data/splicing/splicing_affinity.h"

enum { SPLICING_REACH = 10 }; /* a motif's box reaches this far to either side of its middle: 21 bases */

struct splicing_effect {
    int8_t donor_upstream, donor_downstream, acceptor_upstream, acceptor_downstream; /* -1, 0 or 1 */
};

struct splicing_planted {
    int length;                     /* bases of a sequence */
    int flank;                      /* bases at either end without labels, boxes or calibration */
    double spacing;                 /* bases for each motif planted */
    int reach;                      /* of an effect, in bases between the middles of protein and core */
    struct affinity_set motifs;     /* proteins, then 3P, then 5P */
    struct splicing_effect *effect; /* [proteins] */
    int cores;                      /* 2; 0: proteins only */
    int core_site[2];               /* of 3P and 5P: from the middle of the core to the base that is the site */
};

/* Small models of our own with the domain: `proteins` in [2, 8]. Free with splicing_planted_close(). The sizes
 * are the caller's to change. */
enum status splicing_planted_small(struct splicing_planted *domain, int proteins, struct error *err);
/* The first `proteins` models of a folder of RBNS files, which bind at a share of `background` of random bases. The
 * effects are drawn from a fixed seed. STATUS_NOT_FOUND: there are fewer. */
enum status splicing_planted_folder(struct splicing_planted *domain, const char *folder, int proteins,
                                    double background, struct error *err);
/* Takes the cores away: of the rest, only the boxes of splicing_planted_read() have a meaning. */
void splicing_planted_proteins_only(struct splicing_planted *domain);
void splicing_planted_close(struct splicing_planted *domain);

/* Proteins and the two cores. */
static inline int splicing_planted_proteins(const struct splicing_planted *domain)
{
    return domain->motifs.proteins - domain->cores;
}

struct splicing_truth {
    int count;         /* boxes */
    int room;          /* of `boxes` */
    struct box *boxes; /* caller's; by position, then by model: row 0, columns within the sequence */
};

/* bases: [length]. classes: [length], SITE_NONE in the flanks, or NULL. truth: boxes that there is no room for are
 * dropped and counted; or NULL. STATUS_NO_MEMORY only. */
enum status splicing_planted_sample(const struct splicing_planted *domain, int64_t seed, int64_t index, uint8_t *bases,
                                    uint8_t *classes, struct splicing_truth *truth, struct error *err);
/* Labels and boxes of a given sequence. */
enum status splicing_planted_read(const struct splicing_planted *domain, const uint8_t *bases, uint8_t *classes,
                                  struct splicing_truth *truth, struct error *err);

#endif
