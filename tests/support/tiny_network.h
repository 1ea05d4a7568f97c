/* Settings for SPARLING's smallest useful task and network. Tests that train put them first in a list of settings. */
#ifndef MOTIF_TESTS_SUPPORT_TINY_NETWORK_H
#define MOTIF_TESTS_SUPPORT_TINY_NETWORK_H

/* Pictures contain digits of four classes, each shifted by at most one pixel. The motif model has one residual unit of
 * 8 channels, and the head has one layer. */
#define TINY_NETWORK                                                                                                   \
    {"classes", "4"}, {"min_symbols", "1"}, {"shift", "1"}, {"width", "8"}, {"units", "1"}, {"channels", "16"},        \
        {"layers", "1"}, {"heads", "2"},                                                                               \
    {                                                                                                                  \
        "feed_forward", "32"                                                                                           \
    }

#endif
