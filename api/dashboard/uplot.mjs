// uPlot without what no chart here uses: axes of dates, bars, splines, its legend (ours are buttons), focus, bands, charts whose series have
// an x of their own, scales by asinh or functions, x upwards, series that come and go. A switch becomes the constant that it always is here,
// and esbuild drops what is behind it; functions within uPlot, which esbuild keeps, are taken out by name. The version is pinned by its hash in
// package-lock.json; when a pattern has nothing to match, or a name that was taken out is still called, the build fails.
import { readFileSync } from "node:fs";

const always = (pattern, value) => [pattern, value];
const never = (pattern) => [pattern, ""];
const gone = (name) => [new RegExp(`\\n\\tfunction ${name}\\([\\s\\S]+?\\n\\t\\}\\n`), "\n"];
const INNER = ["initLegendRow", "setLegend", "setLegendValues", "syncLegend", "setFocus", "setAlpha", "addSeries", "delSeries", "addBand", "setBand", "delBand", "batch"];

const UNUSED = [
  // Dates.
  always(/const FEAT_TIME\s+= true;/, "const FEAT_TIME = false;"),
  never(/let isTime = [^;]+;/g), always(/\bisTime\b/g, "false"),
  never(/const \[ timeIncrsMs,[^;]+;\s+const \[ timeIncrsS,[^;]+;/),
  never(/const _tzDate\s+= [^;]+;\s+const _fmtDate = [^;]+;/),
  never(/const _timeAxisSplits = [^;]+;\s+const _timeAxisVals\s+= [^;]+;\s+const _timeSeriesVal\s+= [^;]+;/),
  never(/\{\s+uPlot\.fmtDate = fmtDate;\s+uPlot\.tzDate\s+= tzDate;\s+\}/),
  // Bars, splines, and what a program could ask uPlot for beside charts.
  never(/\(paths\.bars\s+= bars\);/),
  never(/\(paths\.spline\s+= monotoneCubic\);/),
  never(/uPlot\.(assign|fmtNum|rangeNum|rangeLog|rangeAsinh|orient)\s+= \w+;/g),
  // The legend.
  never(/if \(legend\.live\) \{\s+const getMultiVals[\s\S]+?\n\t\}\n/), always(/\blegend\.live\b/g, "false"),
  never(/let multiValLegend = false;/), always(/\bmultiValLegend\b/g, "false"),
  never(/const showLegend = legend\.show;/), always(/\bshowLegend\b/g, "false"),
  never(/\bsetLegend\(\);/g), never(/shouldSetLegend = shouldSetLegend \|\| [^;]+;/), never(/self\.setLegend = setLegend;/),
  // Focus.
  never(/const cursorFocus = [^;]+;/), never(/const cursorOnePt = [^;]+;/), always(/\b(cursorFocus|cursorOnePt)\b/g, "false"),
  never(/if \(opts\.focus != null\)\s+setFocus\(i\);/),
  // Series with an x of their own; bands; fills below a curve.
  always(/\bmode == 2\b/g, "false"), always(/\bmode == 1\b/g, "true"),
  always(/flags != 0 && bands\.forEach/, "false && bands.forEach"),
  always(/let \[ ?bandFillDir, bandClipDir ?\] = bandFillClipDirs\(u, seriesIdx\);/g, "const bandFillDir = 0, bandClipDir = 0;"),
  always(/series\.fill != null/g, "false"),
  // x always lies, and is linear or by powers of ten.
  always(/\b(scaleX|sx)\.ori == 0/g, "true"), always(/\bscaleX\.ori == 1/g, "false"),
  always(/\b(\w+\.)?distr == (4|100)\b/g, "false"),
  never(/self\.(addSeries|delSeries|addBand|setBand|delBand|batch) = \w+;/g),
  ...INNER.map(gone),
];

export const slimmer = {
  name: "uPlot",
  setup(build) {
    build.onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      for (const [from, to] of UNUSED) {
        const before = contents;
        contents = contents.replace(from, to);
        if (contents === before) throw new Error(`uPlot has no ${from} any more`);
      }
      return { contents, loader: "js" };
    });
  },
};

/** In the finished script. */
export function complete(script) {
  const called = INNER.filter((name) => new RegExp(`\\b${name}\\(`).test(script));
  if (called.length > 0) throw new Error(`uPlot still calls ${called}`);
}
