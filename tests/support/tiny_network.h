/* Settings for SPARLING's smallest useful task and network. Tests that train put them first in a list of settings. */
#ifndef MOTIF_TESTS_SUPPORT_TINY_NETWORK_H
#define MOTIF_TESTS_SUPPORT_TINY_NETWORK_H

/* Pictures of four digits, each shifted by at most one pixel; g has one unit of width 8, the head one layer. */
#define TINY_NETWORK                                                                                                   \
    {"classes", "4"}, {"min_symbols", "1"}, {"shift", "1"}, {"width", "8"}, {"units", "1"}, {"channels", "16"},        \
        {"layers", "1"}, {"heads", "2"},                                                                               \
    {                                                                                                                  \
        "feed_forward", "32"                                                                                           \
    }

#endif
