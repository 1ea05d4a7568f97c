/* Short runs of every kind, for tests of all methods (method_runs) and for those of single methods. */
#ifndef MOTIF_TESTS_SUPPORT_SHORT_RUNS_H
#define MOTIF_TESTS_SUPPORT_SHORT_RUNS_H

#include "core/base/config.h"
#include "tests/support/tiny_network.h"

static const struct config_setting tiny_sparling[] = {TINY_NETWORK,
                                                      {"image_size", "48"},
                                                      {"max_symbols", "1"},
                                                      {"min_radius", "6"},
                                                      {"motifs", "4"},
                                                      {"batch", "2"},
                                                      {"dropout", "0.1"},
                                                      {"validation_every", "10"},
                                                      {"validation_samples", "4"},
                                                      {"checkpoint_every", "10"},
                                                      {"total_samples", "20"},
                                                      {"density_start", "0.02"},
                                                      {"motif_samples", "4"},
                                                      {"test_samples", "4"},
                                                      {"stage_samples", "4"},
                                                      {"plateau_validations", "1"},
                                                      {NULL, NULL}};
static const struct config_setting tiny_superposition[] = {
    {"n_s", "32"},           {"p", "0.1"},           {"ratio", "0.25"},          {"batch", "20"},   {"block", "40"},
    {"total_samples", "60"}, {"test_samples", "20"}, {"checkpoint_every", "40"}, {"stop", "never"}, {NULL, NULL}};
static const struct config_setting tiny_rug[] = {{"model", "rug"},  {"n_s", "32"},          {"p", "0.1"},
                                                 {"ratio", "0.25"}, {"test_samples", "20"}, {"draws", "1"},
                                                 {NULL, NULL}};
static const struct config_setting tiny_pathways[] = {
    {"filters", "2"}, {"filter_length", "16"}, {"length", "64"},    {"nonzeros", "1,2"},
    {"trials", "4"},  {"draws", "2"},          {"iterations", "5"}, {NULL, NULL}};
static const struct config_setting tiny_factors[] = {{"rho", "0.5"},  {"rows", "40"},    {"batch", "20"},
                                                     {"epochs", "2"}, {"restarts", "1"}, {NULL, NULL}};
static const struct config_setting tiny_environments[] = {
    {"depth", "2"},   {"samples", "10"}, {"unseen", "1"}, {"updates", "3"},       {"batch", "32"},
    {"factors", "2"}, {"latent", "2"},   {"inputs", "4"}, {"test_samples", "10"}, {NULL, NULL}};
static const struct config_setting tiny_dictionary[] = {{"source", "trained"},
                                                        {"features", "12"},
                                                        {"inputs", "5"},
                                                        {"p", "0.2"},
                                                        {"width", "8"},
                                                        {"l0", "2"},
                                                        {"seeds", "2"},
                                                        {"batch", "20"},
                                                        {"model_samples", "20"},
                                                        {"total_samples", "60"},
                                                        {"test_samples", "20"},
                                                        {"pursuit_samples", "10"},
                                                        {"iterations", "3"},
                                                        {"checkpoint_every", "40"},
                                                        {NULL, NULL}};

static const struct config_setting superposition_relu[] = {{"n_s", "64"},
                                                           {"p", "0.3"},
                                                           {"ratio", "0.5"},
                                                           {"batch", "40"},
                                                           {"block", "100"},
                                                           {"total_samples", "310"},
                                                           {"test_samples", "90"},
                                                           {"checkpoint_every", "300"},
                                                           {"stop", "never"},
                                                           {"learning_rate", "1e-2"},
                                                           {NULL, NULL}};
static const struct config_setting superposition_drawn_rug[] = {
    {"model", "rug"},        {"n_s", "32"},  {"p", "0.1"}, {"ratio", "0.25"},
    {"test_samples", "900"}, {"draws", "3"}, {NULL, NULL}};
static const struct config_setting superposition_linear_map[] = {
    {"model", "linear"}, {"n_s", "64"}, {"p", "0.1"}, {"ratio", "0.5"}, {"test_samples", "90"}, {NULL, NULL}};
static const struct config_setting superposition_gated[] = {{"n_s", "40"},
                                                            {"ratio", "0.3"},
                                                            {"activation", "gated"},
                                                            {"tied", "true"},
                                                            {"importance", "geometric"},
                                                            {"batch", "40"},
                                                            {"block", "0"},
                                                            {"total_samples", "1000"},
                                                            {"test_samples", "100"},
                                                            {"checkpoint_every", "300"},
                                                            {"window", "3"},
                                                            {"stop", "windows"},
                                                            {"initialisation", "xavier-normal"},
                                                            {NULL, NULL}};
static const struct config_setting superposition_sparse[] = {
    {"n_s", "40"},   {"ratio", "0.3"},  {"activation", "k-sparse"}, {"kept", "5"},           {"relu_updates", "9"},
    {"batch", "40"}, {"stop", "never"}, {"total_samples", "800"},   {"test_samples", "100"}, {NULL, NULL}};
/* This run has several restarts, and drops all but one early. */
static const struct config_setting factors_several[] = {
    {"rho", "0.5"},  {"dataset", "1"},  {"rows", "120"},        {"batch", "25"},
    {"epochs", "3"}, {"restarts", "3"}, {"screen_epochs", "2"}, {"checkpoint_every", "50"},
    {NULL, NULL}};
static const struct config_setting factors_skip[] = {{"zeros", "skip"}, {"zeros_after", "6"},       {"rows", "200"},
                                                     {"epochs", "12"},  {"lambda0", "100"},         {"restarts", "2"},
                                                     {"batch", "32"},   {"checkpoint_every", "50"}, {NULL, NULL}};
static const struct config_setting factors_horseshoe[] = {
    {"prior", "horseshoe"}, {"objective", "paper"}, {"rows", "150"}, {"epochs", "5"}, {"batch", "40"}, {NULL, NULL}};
static const struct config_setting factors_groups[] = {
    {"model", "oi-vae"}, {"rows", "150"}, {"epochs", "5"}, {"batch", "40"}, {NULL, NULL}};
static const struct config_setting environments_every[] = {
    {"depth", "3"},   {"samples", "30"}, {"unseen", "2"}, {"updates", "12"},      {"batch", "64"},
    {"factors", "3"}, {"latent", "3"},   {"inputs", "5"}, {"test_samples", "30"}, {"checkpoint_every", "300"},
    {NULL, NULL}};
static const struct config_setting environments_deep[] = {
    {"encoder", "mlp"},          {"psi", "tanh"},   {"hidden", "16"},
    {"shape", "random"},         {"leaves", "9"},   {"corruption", "0.5"},
    {"updates", "15"},           {"batch", "50"},   {"samples", "40"},
    {"sharpness", "0.3"},        {"restarts", "3"}, {"screen_updates", "6"},
    {"checkpoint_every", "400"}, {NULL, NULL}};
static const struct config_setting environments_line[] = {
    {"shape", "caterpillar"},   {"leaves", "7"},    {"merge_root", "false"},
    {"unit_variance", "false"}, {"updates", "15"},  {"unseen", "0"},
    {"refit", "false"},         {"density", "0.4"}, {NULL, NULL}};
static const struct config_setting pathways_small[] = {{"filters", "2"},
                                                       {"filter_length", "64"},
                                                       {"length", "512"},
                                                       {"points", "5"},
                                                       {"trials", "200"},
                                                       {"draws", "5"},
                                                       {"sweep", "signs"},
                                                       {"sizes", "2"},
                                                       {"noise", "0.1"},
                                                       {"magnitude_ratio", "1.5"},
                                                       {"checkpoint_every", "300"},
                                                       {NULL, NULL}};
static const struct config_setting pathways_deep[] = {
    {"filters", "2"},      {"filter_length", "64"}, {"length", "256"},     {"nonzeros", "1,2,4"},
    {"trials", "60"},      {"draws", "5"},          {"depth", "3"},        {"deep_filters", "2"},
    {"deep_length", "16"}, {"deep_nonzeros", "4"},  {"sweep", "decoders"}, {"iterations", "20"},
    {NULL, NULL}};

#endif
