/* Splicing data with a known truth: motifs of affinity models are planted into random RNA, and a rule derives splice
 * sites from them.
 *
 * Two models are the cores that every site needs: 5P (GT at the beginning of an intron) and 3P (AG at its end). The
 * other models are proteins. A protein has four effects of +1, 0 or -1: on donors and on acceptors, each when the
 * protein is bound upstream and when it is bound downstream. A core is a site if the sum of the effects of all proteins
 * bound within `reach` of it is above 0. So the same protein may enhance a site from the exon and silence it from the
 * intron, as SR proteins and hnRNPs do.
 *
 * Labels and motifs are computed from the finished sequence, because planted words may overwrite each other and random
 * bases sometimes bind. They are therefore functions of the sequence, the same in every set.
 *
 * A sample is a pure function of the domain, the set's seed and the index. Any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_PLANTED_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_PLANTED_H

#include "core/data/box.h"
#include "core/data/splicing/splicing_affinity.h"

enum { SPLICING_REACH = 10 }; /* a motif's box extends this far to either side of its middle: 21 bases */

struct splicing_effect {
    int8_t donor_upstream, donor_downstream, acceptor_upstream, acceptor_downstream; /* -1, 0 or 1 */
};

struct splicing_planted {
    int length; /* length of a sequence in bases */
    /* bases at either end that have no labels and no boxes, and that affinity_calibrate() ignores */
    int flank;
    double spacing; /* mean distance of planted motifs in bases: a sequence has one for each `spacing` bases */
    /* reach of an effect: maximum number of bases between the middles of protein and core */
    int reach;
    struct affinity_set motifs;     /* proteins, then 3P, then 5P */
    struct splicing_effect *effect; /* [proteins] */
    int cores;                      /* number of cores: 2, or 0 if the domain has proteins only */
    /* for the cores 3P and 5P: number of bases from the middle of the core to the site */
    int core_site[2];
};

/* Creates a domain with the first `proteins` (2 to 8) of the small built-in models. The caller may change the sizes of
 * the domain, and calls splicing_planted_close() at the end. */
enum status splicing_planted_small(struct splicing_planted *domain, int proteins, struct error *err);
/* Creates a domain with the first `proteins` models of a folder of RBNS files. The thresholds are set so that each
 * protein binds at the fraction `background` of all positions of random sequences. A fixed seed draws the effects.
 * STATUS_NOT_FOUND: the folder has fewer models. */
enum status splicing_planted_folder(struct splicing_planted *domain, const char *folder, int proteins,
                                    double background, struct error *err);
/* Removes the cores. The domain then serves only for the boxes of splicing_planted_read(). */
void splicing_planted_proteins_only(struct splicing_planted *domain);
void splicing_planted_close(struct splicing_planted *domain);

/* Number of proteins; the cores are not counted. */
static inline int splicing_planted_proteins(const struct splicing_planted *domain)
{
    return domain->motifs.proteins - domain->cores;
}

struct splicing_truth {
    int count;         /* number of boxes found, including those that did not fit into `room` */
    int room;          /* capacity of `boxes` */
    struct box *boxes; /* [room], the caller's; ordered by position, and at the same
                          position by protein. The row is 0, and the columns are
                          positions in the sequence. */
};

/* Draws a sample. bases: [length]. classes: [length], SITE_NONE in the flanks; may
 * be NULL. truth may be NULL; boxes beyond its room are counted but not written.
 * Fails with STATUS_NO_MEMORY only. */
enum status splicing_planted_sample(const struct splicing_planted *domain, int64_t seed, int64_t index, uint8_t *bases,
                                    uint8_t *classes, struct splicing_truth *truth, struct error *err);
/* Computes the labels and boxes of a given sequence. The arguments are those of splicing_planted_sample(). */
enum status splicing_planted_read(const struct splicing_planted *domain, const uint8_t *bases, uint8_t *classes,
                                  struct splicing_truth *truth, struct error *err);

#endif
