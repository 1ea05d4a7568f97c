// Removes the parts of uPlot that no chart here uses, so that the script becomes smaller: date axes, bars, splines, the legend (the page has
// buttons instead), focus, bands, series with x values of their own, asinh scales and custom scales, a vertical x axis, and changes to the list
// of series. Conditions that always have the same value here become constants, and esbuild drops the code that they exclude. esbuild keeps
// functions inside uPlot, so these are removed by name. package-lock.json fixes the version. The build fails if a pattern matches nothing, or
// if the script still calls a removed function.
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
  // Bars, splines, and exported functions that draw no chart.
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
  // Series with x values of their own, bands, and fills below a curve.
  always(/\bmode == 2\b/g, "false"), always(/\bmode == 1\b/g, "true"),
  always(/flags != 0 && bands\.forEach/, "false && bands.forEach"),
  always(/let \[ ?bandFillDir, bandClipDir ?\] = bandFillClipDirs\(u, seriesIdx\);/g, "const bandFillDir = 0, bandClipDir = 0;"),
  always(/series\.fill != null/g, "false"),
  // The x axis is always horizontal. Scales are linear or logarithmic.
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

/** Fails if the finished script still calls a function that was removed. */
export function complete(script) {
  const called = INNER.filter((name) => new RegExp(`\\b${name}\\(`).test(script));
  if (called.length > 0) throw new Error(`uPlot still calls ${called}`);
}
