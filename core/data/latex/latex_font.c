/* Draws the characters of Latin Modern with FreeType.
 *
 * Upright characters come from the roman fonts of 10, 7 and 5 points. Letters and big brackets come from the math font.
 * The math font contains the 7 and 5 point designs of letters as alternates (.st and .sts), which are meant to be shown
 * at 70 and 50 %. The second size of brackets in the math font has the form of TeX's extensible bracket of 12 pt, but
 * is 0.02 em too far from the content, so the code moves it closer.
 *
 * Outlines are loaded without hinting in font units and scaled by a matrix, so sizes need not be whole pixels. */
#include "core/data/latex/latex_font.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

/* variants of a character: one for each size and, for brackets only, the big bracket */
enum { BIG = LATEX_SIZES, KINDS };

struct latex_font {
    double dpi;
    struct latex_raster rasters[LATEX_CLASSES][KINDS][LATEX_FRACTIONS];
};

struct faces {
    FT_Library library;
    FT_Face roman[LATEX_SIZES], math;
};

static const char *const DEFAULT_FOLDER = "/usr/share/texmf/fonts/opentype/public";
static const char *const roman_files[LATEX_SIZES] = {"lm/lmroman10-regular.otf", "lm/lmroman7-regular.otf",
                                                     "lm/lmroman5-regular.otf"};
static const char *const math_file = "lm-math/latinmodern-math.otf";

static enum status open_face(FT_Library library, const char *folder, const char *file, FT_Face *face, struct error *err)
{
    char path[1024];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= sizeof path || FT_New_Face(library, path, 0, face) != 0)
        return error_set(err, STATUS_NOT_FOUND, NULL,
                         "formulas need the font file %s: install Debian's package fonts-lmodern",
                         strrchr(file, '/') + 1);
    return STATUS_OK;
}

static void close_faces(struct faces *faces)
{
    for (int i = 0; i < LATEX_SIZES; i++)
        FT_Done_Face(faces->roman[i]);
    FT_Done_Face(faces->math);
    FT_Done_FreeType(faces->library);
}

static enum status open_faces(const char *folder, struct faces *faces, struct error *err)
{
    memset(faces, 0, sizeof *faces);
    if (FT_Init_FreeType(&faces->library) != 0)
        return error_set(err, STATUS_NO_MEMORY, NULL, "FreeType cannot be initialised");
    enum status status = open_face(faces->library, folder, math_file, &faces->math, err);
    for (int i = 0; !status && i < LATEX_SIZES; i++)
        status = open_face(faces->library, folder, roman_files[i], &faces->roman[i], err);
    if (status)
        close_faces(faces);
    return status;
}

struct glyph {
    FT_Face face;
    FT_UInt index;
    double em;   /* size of the font's em square in points */
    double move; /* shift to the right in points */
};

static struct glyph big_bracket(const struct faces *faces, int symbol)
{
    bool open = symbol == LATEX_CLASS_OPEN;
    char name[] = "parenright.v2";
    if (open)
        snprintf(name, sizeof name, "parenleft.v2");
    return (struct glyph){faces->math, FT_Get_Name_Index(faces->math, name), latex_size_points(0), open ? 0.2 : -0.2};
}

static struct glyph letter(const struct faces *faces, int symbol, int size)
{
    static const char *const alternates[LATEX_SIZES] = {"", ".st", ".sts"};
    static const double scales[LATEX_SIZES] = {1, 0.7, 0.5};
    static const unsigned letters[6] = {0x44E, 0x44F, 0x450, 0x465, 0x466, 0x467}; /* mathematical italic a b c x y z */
    char name[16];
    snprintf(name, sizeof name, "u1D%03X%s", letters[symbol - LATEX_CLASS_LETTER], alternates[size]);
    return (struct glyph){faces->math, FT_Get_Name_Index(faces->math, name), latex_size_points(0) * scales[size], 0};
}

/* Returns the glyph of a class in one variant; its index is 0 if the variant does not exist. */
static struct glyph find_glyph(const struct faces *faces, int symbol, int kind)
{
    if (kind == BIG)
        return big_bracket(faces, symbol);
    if (symbol >= LATEX_CLASS_LETTER)
        return letter(faces, symbol, kind);
    FT_Face face = faces->roman[kind];
    int code = symbol >= LATEX_CLASS_DIGIT ? '0' + symbol - LATEX_CLASS_DIGIT : "()+"[symbol - LATEX_CLASS_OPEN];
    return (struct glyph){face, FT_Get_Char_Index(face, (FT_ULong)code), latex_size_points(kind), 0};
}

/* Draws the scaled outline, shifted by quarters of a pixel, into the face's slot. */
static enum status rasterise(FT_Library library, FT_Outline *outline, struct latex_raster *raster, struct error *err)
{
    FT_BBox box;
    FT_Outline_Get_CBox(outline, &box);
    FT_Pos left = box.xMin >> 6, right = (box.xMax + 63) >> 6, bottom = box.yMin >> 6, top = (box.yMax + 63) >> 6;
    uint8_t *coverage = calloc((size_t)((right - left) * (top - bottom)) + 1, 1);
    if (!coverage)
        return error_memory(err, "characters");
    FT_Outline_Translate(outline, -64 * left, -64 * bottom);
    FT_Bitmap bitmap = {.rows = (unsigned)(top - bottom),
                        .width = (unsigned)(right - left),
                        .pitch = (int)(right - left),
                        .buffer = coverage,
                        .num_grays = 256,
                        .pixel_mode = FT_PIXEL_MODE_GRAY};
    *raster = (struct latex_raster){.rows = (int)(top - bottom),
                                    .cols = (int)(right - left),
                                    .up = (int)top,
                                    .left = (int)left,
                                    .coverage = coverage};
    if (FT_Outline_Get_Bitmap(library, outline, &bitmap) != 0)
        return error_set(err, STATUS_INTERNAL, NULL, "FreeType cannot draw a character");
    return STATUS_OK;
}

static enum status draw_glyph(struct latex_font *font, const struct faces *faces, int symbol, int kind, int fraction,
                              struct error *err)
{
    struct glyph glyph = find_glyph(faces, symbol, kind);
    if (glyph.index == 0 || FT_Load_Glyph(glyph.face, glyph.index, FT_LOAD_NO_SCALE) != 0)
        return error_set(err, STATUS_NOT_FOUND, NULL,
                         "Latin Modern has no glyph %s; reinstall Debian's package fonts-lmodern",
                         latex_class_name(symbol));
    FT_Outline *outline = &glyph.face->glyph->outline;
    double scale = 64 * font->dpi / 72.27; /* factor from points to units of 1/64 pixel */
    FT_Fixed em = (FT_Fixed)lround(65536 * scale * glyph.em / glyph.face->units_per_EM);
    FT_Matrix matrix = {.xx = em, .yy = em};
    FT_Outline_Transform(outline, &matrix);
    FT_Outline_Translate(outline, lround(scale * glyph.move) + 64 / LATEX_FRACTIONS * fraction, 0);
    return rasterise(faces->library, outline, &font->rasters[symbol][kind][fraction], err);
}

enum status latex_font_create(double dpi, const char *folder, struct latex_font **font, struct error *err)
{
    struct faces faces;
    struct latex_font *f = calloc(1, sizeof *f);
    if (!f)
        return error_memory(err, "characters");
    f->dpi = dpi;
    enum status status = open_faces(folder ? folder : DEFAULT_FOLDER, &faces, err);
    if (status) {
        free(f);
        return status;
    }
    for (int symbol = 0; symbol < LATEX_CLASSES; symbol++)
        for (int kind = 0; kind < (symbol <= LATEX_CLASS_CLOSE ? KINDS : LATEX_SIZES); kind++)
            for (int fraction = 0; !status && symbol != LATEX_CLASS_BAR && fraction < LATEX_FRACTIONS; fraction++)
                status = draw_glyph(f, &faces, symbol, kind, fraction, err);
    close_faces(&faces);
    if (status) {
        latex_font_destroy(f);
        return status;
    }
    *font = f;
    return STATUS_OK;
}

void latex_font_destroy(struct latex_font *font)
{
    if (!font)
        return;
    struct latex_raster *all = &font->rasters[0][0][0];
    for (size_t i = 0; i < sizeof font->rasters / sizeof *all; i++)
        free((void *)(uintptr_t)all[i].coverage);
    free(font);
}

const struct latex_raster *latex_font_raster(const struct latex_font *font, const struct latex_mark *mark, int fraction)
{
    return &font->rasters[mark->symbol][mark->big ? BIG : mark->size][fraction];
}
