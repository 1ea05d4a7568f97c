# Writes bigWig files with the library of the UCSC Genome Browser (the package rtracklayer of Bioconductor; Debian: r-bioc-rtracklayer).
#   Rscript bigwig.R FOLDER
# Each file NAME.bw has four chromosomes, six or seven zoom levels and sections of one type, compressed or not. NAME.bedgraph has the
# values before they were written. bigwig.py compares them with what motifd reads.
suppressMessages(library(rtracklayer))
folder <- commandArgs(TRUE)[1]
set.seed(7)
lengths <- c(chr1 = 3000000L, chr10 = 400000L, chr2 = 120000L, chrM = 16571L)
regions <- function(chromosome, start, width, score) GRanges(chromosome, IRanges(start, width = width), score = round(score, 3))
intervals <- function(chromosome, n) {
    start <- sort(sample.int(lengths[[chromosome]] - 60L, n))
    regions(chromosome, start, pmin(sample.int(50L, n, TRUE), c(diff(start), 40L)), rnorm(n, 2, 5))
}
steps <- function(chromosome, start, n) regions(chromosome, seq(start, by = 25L, length.out = n), 25L, runif(n, -3, 9))
places <- function(chromosome, n) regions(chromosome, sort(sample.int(lengths[[chromosome]] %/% 10L - 1L, n)) * 10L, 7L, rexp(n))
signals <- list(
    bedGraph = c(intervals("chr1", 40000L), intervals("chr10", 3000L), intervals("chr2", 500L), intervals("chrM", 40L)),
    fixedStep = c(steps("chr1", 1001L, 30000L), steps("chr10", 1L, 10000L), steps("chrM", 1L, 600L)),
    variableStep = c(places("chr1", 50000L), places("chr10", 2000L), places("chr2", 900L)))
for (type in names(signals)) {
    signal <- signals[[type]]
    seqlevels(signal) <- names(lengths)
    seqlengths(signal) <- lengths
    signal <- sort(signal)
    table <- data.frame(seqnames(signal), start(signal) - 1L, end(signal), signal$score)
    for (packed in c("packed", "plain")) {
        stem <- file.path(folder, paste(type, packed, sep = "-"))
        export(signal, paste0(stem, ".bw"), format = "bw", dataFormat = type, compress = packed == "packed")
        write.table(table, paste0(stem, ".bedgraph"), sep = "\t", quote = FALSE, row.names = FALSE, col.names = FALSE)
    }
}
