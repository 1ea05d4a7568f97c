/* The presets: settings that differ from the defaults, which are the paper's DigitCircle run. */
#include "core/methods/sparling/config.h"

/* The paper's network, schedule and evaluation (section 5.1 with the authors' code). */
static const struct config_setting paper[] = {{NULL, NULL}};

/* Settings that the reduced presets share. Images with few digits come first: the network finds a single digit within a
 * few thousand samples, but one digit among several only after tens of thousands, or never. Batch norm has no gain,
 * because the gain of a channel that has found nothing yet could become zero. Motif values are scaled to strength 1 for
 * the head; otherwise they are much larger than the position encoding, and the head never learns the order of the
 * digits. Before the last density, stages end by the plateau rule. The accuracy target would be reached late or never,
 * because the head learns the order of the digits only on sparse maps. */
#define RECIPE                                                                                                         \
    {"width", "16"}, {"channels", "64"}, {"heads", "4"}, {"head_norm", "pre"}, {"positions", "grid"},                  \
        {"embed_order", "pool-then-embed"}, {"attend", "active"}, {"motif_scale", "rms"}, {"batch_norm", "plain"},     \
        {"lstm", "false"}, {"dropout", "0"}, {"identical_layers", "false"}, {"batch", "8"}, {"learning_rate", "1e-3"}, \
        {"warm_up", "200"}, {"clip_norm", "1"}, {"schedule", "linear"}, {"learning_rate_final", "0.05"},               \
        {"plateau_gain", "0.9"}, {"target_decay", "0"},                                                                \
    {                                                                                                                  \
        "validation_samples", "500"                                                                                    \
    }

/* The next two presets interpolate each threshold between two neighbouring values of a batch. Without interpolation,
 * each threshold is itself a value of the batch. At the last density, about four values of a channel in a batch of 8
 * should be above the threshold; without interpolation there would be five, a quarter too many. */

/* The paper's domain with a network that two CPU cores can train. */
static const struct config_setting digitcircle[] = {RECIPE,
                                                    {"quantile", "interpolated"},
                                                    {"layers", "3"},
                                                    {"feed_forward", "256"},
                                                    {"curriculum", "40000"},
                                                    {"density_start", "8.9186e-4"},
                                                    {"density_final", "5.02e-5"},
                                                    {"plateau_validations", "2"},
                                                    {"plateau_density", "5.5e-5"},
                                                    {"reinitialise_below", "1e-4"},
                                                    {"target_start", "0.99"},
                                                    {"target_max", "0.99"},
                                                    {"validation_every", "2000"},
                                                    {"total_samples", "240000"},
                                                    {"checkpoint_every", "20000"},
                                                    {NULL, NULL}};

/* DigitCircle with smaller images: the whole run takes minutes. From the fourth last density on, training reinitialises
 * channels that do not lower the loss. At that density, a channel that marks two digits can still mark both. At lower
 * densities it drops one of them, and it is then too late for a reinitialised channel to find the dropped digit. So a
 * stage whose loss rises waits as long as a channel does not lower the loss (reinitialise_wait). */
static const struct config_setting quick[] = {RECIPE,
                                              {"quantile", "interpolated"},
                                              {"image_size", "64"},
                                              {"classes", "5"},
                                              {"min_symbols", "2"},
                                              {"max_symbols", "4"},
                                              {"min_radius", "12"},
                                              {"motifs", "5"},
                                              {"layers", "2"},
                                              {"feed_forward", "128"},
                                              {"curriculum", "24000"},
                                              {"density_start", "1.4683e-3"},
                                              {"density_final", "1.465e-4"},
                                              {"plateau_validations", "2"},
                                              {"plateau_density", "1.5e-4"},
                                              {"reinitialise_below", "4e-4"},
                                              {"reinitialise_wait", "12"},
                                              {"target_start", "0.98"},
                                              {"target_max", "0.98"},
                                              {"validation_every", "1500"},
                                              {"total_samples", "90000"},
                                              {"checkpoint_every", "9000"},
                                              {"test_samples", "2000"},
                                              {"motif_samples", "2000"},
                                              {"stage_samples", "500"},
                                              {NULL, NULL}};

/* Settings that the presets with the presence objective share. In the first phase, g learns to find the motifs. In the
 * second phase, the head learns to read them at the last density. Only maps of that density show the order of motifs,
 * so these presets have no annealing. Only long labels teach the order, so they have no curriculum. With batches of 4,
 * the head needs fewer samples than with batches of 8 (docs/lab/recipe.md). A run ends by itself. Then the calibration
 * lowers thresholds that are too high and would miss motifs. With the presence objective, a channel may be active
 * anywhere in a window that contains its motif, so motifs are reported at the centres of the channels' extents. */
#define PRESENCE                                                                                                       \
    {"curriculum", "0"}, {"reinitialise_below", "0"}, {"presence_weight", "0.1"}, {"presence_validations", "2"},       \
        {"batch", "4"}, {"learning_rate", "0.0007"}, {"patience", "8"}, {"calibrate", "true"},                         \
        {"centre_motifs", "true"}, {"target_start", "0.95"}, {"target_max", "0.95"},                                   \
    {                                                                                                                  \
        "validation_samples", "300"                                                                                    \
    }

/* The preset digitcircle-presence: the images of digitcircle. After the first phase, g and the head train together for
 * 12,000 samples, in which the learning rate falls. Then g is final, so its maps can be kept, and the head reads the
 * maps of 16,000 images again and again (docs/lab/recipe.md). */
static const struct config_setting digitcircle_presence[] = {RECIPE,
                                                             PRESENCE,
                                                             {"motif_floor", "1"},
                                                             {"reading_samples", "100000"},
                                                             {"reading_inputs", "16000"},
                                                             {"quantile", "interpolated"},
                                                             {"layers", "3"},
                                                             {"feed_forward", "256"},
                                                             {"presence_samples", "8000"},
                                                             {"density_start", "5.023e-5"},
                                                             {"density_final", "5.02e-5"},
                                                             {"plateau_density", "5.5e-5"},
                                                             {"validation_every", "2000"},
                                                             {"total_samples", "120000"},
                                                             {"checkpoint_every", "20000"},
                                                             {NULL, NULL}};

/* The preset digitcircle-quick-presence: the images of digitcircle-quick, trained in the same three parts. */
static const struct config_setting quick_presence[] = {RECIPE,
                                                       PRESENCE,
                                                       {"motif_floor", "1"},
                                                       {"reading_samples", "40000"},
                                                       {"reading_inputs", "8000"},
                                                       {"quantile", "interpolated"},
                                                       {"image_size", "64"},
                                                       {"classes", "5"},
                                                       {"min_symbols", "2"},
                                                       {"max_symbols", "4"},
                                                       {"min_radius", "12"},
                                                       {"motifs", "5"},
                                                       {"layers", "2"},
                                                       {"feed_forward", "128"},
                                                       {"presence_samples", "4500"},
                                                       {"density_start", "1.466e-4"},
                                                       {"density_final", "1.465e-4"},
                                                       {"plateau_density", "1.5e-4"},
                                                       {"validation_every", "1500"},
                                                       {"total_samples", "49000"},
                                                       {"checkpoint_every", "9000"},
                                                       {"test_samples", "2000"},
                                                       {"motif_samples", "2000"},
                                                       {"stage_samples", "500"},
                                                       {NULL, NULL}};

/* The formulas of the next two presets, and the network that reads them. */
#define FORMULAS                                                                                                       \
    {"domain", "latex"}, {"latex_rows", "52"}, {"latex_cols", "136"}, {"latex_dpi", "133"},                            \
        {"latex_max_tokens", "12"}, {"latex_noise", "0.125"}, {"latex_margin", "1"}, {"quantile", "interpolated"},     \
        {"units", "3"}, {"layers", "3"}, {"feed_forward", "256"},                                                      \
    {                                                                                                                  \
        "pool", "4"                                                                                                    \
    }

/* Formulas of up to 12 tokens at two thirds of the published resolution, with half the noise. Pooling windows of 4
 * pixels are small enough to tell superscripts from subscripts. The windows of g have 13 pixels, the height of a digit.
 * In a window of 17 pixels, g could see a whole small character that lies beside the centre, and would mark a position
 * beside the character. */
static const struct config_setting latex_ocr[] = {RECIPE,
                                                  FORMULAS,
                                                  {"motifs", "64"},
                                                  {"curriculum", "100000"},
                                                  {"density_start", "2.115e-4"},
                                                  {"density_final", "2.1e-5"},
                                                  {"reinitialise_below", "2.5e-5"},
                                                  {"plateau_validations", "2"},
                                                  {"plateau_density", "2.3e-5"},
                                                  {"target_start", "0.985"},
                                                  {"target_max", "0.985"},
                                                  {"validation_every", "7500"},
                                                  {"total_samples", "600000"},
                                                  {"checkpoint_every", "20000"},
                                                  {NULL, NULL}};

/* The formulas of the preset latex-ocr with the presence objective. There are 32 channels: one for each of the 24
 * tokens, and eight without a token. The 32 channels together have as many active positions as the 64 channels of
 * latex-ocr. The density of a channel depends on the frequency of its token. */
static const struct config_setting latex_ocr_presence[] = {RECIPE,
                                                           PRESENCE,
                                                           FORMULAS,
                                                           {"motifs", "32"},
                                                           {"presence_samples", "20000"},
                                                           {"presence_sharpness", "2"},
                                                           {"density_by_name", "true"},
                                                           {"density_start", "4.24e-5"},
                                                           {"density_final", "4.23e-5"},
                                                           {"plateau_density", "4.5e-5"},
                                                           {"validation_every", "4000"},
                                                           {"total_samples", "120000"},
                                                           {"checkpoint_every", "20000"},
                                                           {NULL, NULL}};

/* LaTeX-OCR as published: windows of 65 pixels (16 units), 32 motifs, and no gain in the batch norm. A threshold is
 * computed from several batches together, so many that they should contain ten motifs of the channel. */
static const struct config_setting latex_ocr_paper[] = {{"domain", "latex"},
                                                        {"units", "16"},
                                                        {"motifs", "32"},
                                                        {"batch_norm", "plain"},
                                                        {"accumulate_motifs", "10"},
                                                        {"batch", "8"},
                                                        {"validation_samples", "10008"},
                                                        {"density_final", "6.97338e-6"},
                                                        {NULL, NULL}};

/* The clips of the next two presets, and the network that reads them. */
#define CLIPS                                                                                                          \
    {"domain", "audio"}, {"audio_scale", "units"}, {"audio_seconds", "6"}, {"audio_min_symbols", "2"},                 \
        {"audio_max_symbols", "4"}, {"width", "32"}, {"units", "5"}, {"layers", "2"}, {"feed_forward", "128"},         \
    {                                                                                                                  \
        "quantile", "interpolated"                                                                                     \
    }

/* Spoken digits in clips of six seconds, with a network that two CPU cores can train. The window of g has 21 frames,
 * about the length of a word. In a longer window, g could see a whole word that lies beside the centre, and would mark
 * a position beside the word. At the last density, about two values of a channel in a batch should be above the
 * threshold; without interpolated thresholds there would be three. */
static const struct config_setting audio[] = {RECIPE,
                                              CLIPS,
                                              {"curriculum", "30000"},
                                              {"density_start", "2.1e-2"},
                                              {"density_final", "1.18e-3"},
                                              {"plateau_validations", "3"},
                                              {"plateau_density", "1.3e-3"},
                                              {"reinitialise_below", "2.4e-3"},
                                              {"target_start", "0.98"},
                                              {"target_max", "0.98"},
                                              {"validation_every", "3000"},
                                              {"total_samples", "200000"},
                                              {"checkpoint_every", "15000"},
                                              {"test_samples", "5000"},
                                              {"motif_samples", "5000"},
                                              {NULL, NULL}};

/* The clips of the preset audio-sequence with the presence objective. presence_sharpness is large, so that channels are
 * active at fewer places, and seldom beside a word (docs/lab/audio-sequence.md). */
static const struct config_setting audio_presence[] = {RECIPE,
                                                       PRESENCE,
                                                       CLIPS,
                                                       {"presence_samples", "12000"},
                                                       {"presence_sharpness", "4"},
                                                       {"density_start", "1.181e-3"},
                                                       {"density_final", "1.18e-3"},
                                                       {"plateau_density", "1.3e-3"},
                                                       {"validation_every", "2000"},
                                                       {"total_samples", "60000"},
                                                       {"checkpoint_every", "20000"},
                                                       {"test_samples", "5000"},
                                                       {"motif_samples", "5000"},
                                                       {NULL, NULL}};

/* AudioMNISTSequence as published (section 5.1): 15 seconds, 5 to 10 digits, 44 million parameters. Decoding may
 * produce three tokens more than the longest label, and the head has the vocabulary of LaTeX-OCR. */
static const struct config_setting audio_paper[] = {{"domain", "audio"},
                                                    {"audio_tokens", "26"},
                                                    {"width", "64"},
                                                    {"units", "8"},
                                                    {"lstm", "false"},
                                                    {"batch_norm", "plain"},
                                                    {"accumulate_motifs", "10"},
                                                    {"density_final", "1.168224e-3"},
                                                    {"batch", "8"},
                                                    {"total_samples", "60000000"},
                                                    {"validation_samples", "10008"},
                                                    {"decode_extra", "3"},
                                                    {NULL, NULL}};

/* Splicing with planted motifs: the head learns the rule on dense maps, and then the maps become sparse. All proteins
 * and site cores have about the same number of motifs, so one density fits all channels. There are as many channels as
 * kinds of motifs. The density falls in small steps, so that channels that share motifs have time to divide them
 * before each can keep only one kind; a channel that loses its kind is reinitialised (docs/lab/splicing.md). */
static const struct config_setting splicing[] = {{"domain", "splicing"},
                                                 {"splicing_length", "600"},
                                                 {"motifs", "8"},
                                                 {"width", "16"},
                                                 {"units", "3"},
                                                 {"channels", "16"},
                                                 {"context", "400"},
                                                 {"batch_norm", "plain"},
                                                 {"motif_scale", "rms"},
                                                 {"batch", "8"},
                                                 {"learning_rate", "2e-3"},
                                                 {"warm_up", "200"},
                                                 {"clip_norm", "1"},
                                                 {"schedule", "linear"},
                                                 {"learning_rate_final", "0.05"},
                                                 {"density_start", "0.0533"},
                                                 {"density_final", "2.9e-3"},
                                                 {"density_factor", "0.866"},
                                                 {"reinitialise_below", "6e-3"},
                                                 {"reinitialise_samples", "10000"},
                                                 {"reinitialise_wait", "16"},
                                                 {"plateau_validations", "6"},
                                                 {"plateau_gain", "0.02"},
                                                 {"plateau_density", "3.1e-3"},
                                                 {"target_start", "0.93"},
                                                 {"target_max", "0.93"},
                                                 {"target_decay", "0"},
                                                 {"validation_every", "2500"},
                                                 {"validation_samples", "400"},
                                                 {"total_samples", "260000"},
                                                 {"checkpoint_every", "20000"},
                                                 {"test_samples", "2000"},
                                                 {"motif_samples", "1000"},
                                                 {"stage_samples", "200"},
                                                 {"chance_shuffles", "10"},
                                                 {"chance_samples", "1000"},
                                                 {NULL, NULL}};

/* The networks, windows, batch size and schedule are those of the paper (Appendix L and the authors' code). The data
 * are planted sequences of the same size, because the paper's data cannot be redistributed. */
static const struct config_setting splicing_paper[] = {{"domain", "splicing"},
                                                       {"splicing_length", "5000"},
                                                       {"splicing_flank", "5000"},
                                                       {"splicing_proteins", "8"},
                                                       {"motifs", "80"},
                                                       {"width", "80"},
                                                       {"units", "5"},
                                                       {"narrow_units", "5"},
                                                       {"channels", "32"},
                                                       {"context", "10000"},
                                                       {"batch", "32"},
                                                       {"density_final", "1.8e-3"},
                                                       {"target_decay", "1.2292e-7"},
                                                       {"validation_samples", "10048"},
                                                       {"test_samples", "1000"},
                                                       {"motif_samples", "1000"},
                                                       {"stage_samples", "200"},
                                                       {"chance_shuffles", "10"},
                                                       {"chance_samples", "1000"},
                                                       {NULL, NULL}};

/* Uploaded data: the shared settings with pooling windows of 4 pixels; sizes and densities follow from the data. */
static const struct config_setting own[] = {RECIPE,
                                            {"domain", "dataset"},
                                            {"dataset_fit", "true"},
                                            {"quantile", "interpolated"},
                                            {"layers", "2"},
                                            {"feed_forward", "128"},
                                            {"pool", "4"},
                                            {"plateau_validations", "2"},
                                            {"target_start", "0.98"},
                                            {"target_max", "0.98"},
                                            {"presence_weight", "1"},
                                            {"presence_samples", "60000"},
                                            {"presence_validations", "6"},
                                            {"select_by_validation", "true"},
                                            {"density_by_name", "true"},
                                            {"patience", "8"},
                                            {"momentum", "0.98"},
                                            {"other_strand", "true"},
                                            {"centre_motifs", "true"},
                                            {"calibrate", "true"},
                                            {"validation_every", "2000"},
                                            {"reading_samples", "30000"},
                                            {"total_samples", "170000"},
                                            {"checkpoint_every", "10000"},
                                            {"test_samples", "2000"},
                                            {"motif_samples", "1000"},
                                            {"stage_samples", "300"},
                                            {"reference", "true"},
                                            {NULL, NULL}};

#define ENTRY(preset, values, text) {.name = preset, .meaning = text, .settings = values},
const struct method_preset sparling_presets[SPARLING_PRESETS] = {SPARLING_PRESET_LIST(ENTRY)};
