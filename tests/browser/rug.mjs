// Tests of the pictures on the page Rug, by their pixels: the weights, which the page draws, and the diagram of features, which the daemon draws. Both
// are compared with the tables of the job.
import { none } from "./harness.mjs";

const SIDE = 32; // features of the rug

const file = async (daemon, job, name) => (await fetch(`${daemon.url}/v1/jobs/${job}/artifacts/${name}`)).arrayBuffer();
const linesOf = async (daemon, job, name) => Buffer.from(await file(daemon, job, name)).toString().trim().split("\n");

/** The red, green and blue of points of a canvas, given as shares of its width and height. */
const coloursAt = (canvas, points) => canvas.evaluate((c, list) => {
  const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
  return list.map(([x, y]) => [0, 1, 2].map((k) => data[4 * (Math.floor(y * c.height) * c.width + Math.floor(x * c.width)) + k]));
}, points);

export async function weightsHaveTheirColours(page, daemon, job) {
  await page.goto(`${daemon.url}/#/jobs/${job}/rug`);
  const picture = page.getByRole("img", { name: `Weights between ${SIDE} features` });
  await picture.waitFor();
  const [head, ...rows] = (await linesOf(daemon, job, "rug.csv")).map((line) => line.split(","));
  const of = (name) => head.indexOf(name), cells = rows.filter((row) => row[of("series")] === "weight").map((row) => ["x", "y", "value"].map((name) => Number(row[of(name)])));
  const colours = await coloursAt(picture, cells.map(([x, y]) => [(x + 0.5) / SIDE, (y + 0.5) / SIDE]));
  const found = cells.map(([x, y, value], i) => ({ x, y, value, red: colours[i][0] - colours[i][2], pale: Math.min(...colours[i]) }));
  if (found.length !== SIDE * SIDE || !found.some((c) => c.value < 0)) throw new Error(`${found.length} weights`);
  none(found.filter((c) => Math.abs(c.value) > 0.02 && Math.sign(c.red) !== Math.sign(c.value)).map((c) => JSON.stringify(c)), "weights in the colour of the other sign");
  for (const sign of [1, -1]) {
    const same = found.filter((c) => sign * c.value > 0.02).sort((a, b) => Math.abs(a.value) - Math.abs(b.value));
    none(same.filter((c, i) => i > 0 && c.pale > same[i - 1].pale).map((c) => JSON.stringify(c)), "weights that are paler than smaller ones");
  }
  const [low, high] = await page.locator(".scale span:not(.muted)").allInnerTexts(), most = Math.max(...cells.map(([, , value]) => Math.abs(value)));
  if (low !== `-${high}` || Math.abs(Number(high) - most) > 0.01) throw new Error(`the scale goes from ${low} to ${high}; the largest weight is ${most}`);
}

/** A line would not show single bins between empty ones. */
export async function fewValuesArePoints(page, daemon, job) {
  const filled = (await linesOf(daemon, job, "features.csv")).filter((line) => /^Off the diagonal,"?W_ij/.test(line) && Number(line.split(",").at(-4)) > 0);
  const drawn = await page.evaluate(async (bytes) => { // groups of columns with the colour of the first series, in the right panel above its legend
    const picture = await createImageBitmap(new Blob([Uint8Array.from(bytes)], { type: "image/png" })), { width, height } = picture, c = new OffscreenCanvas(width, height).getContext("2d");
    c.drawImage(picture, 0, 0);
    const { data } = c.getImageData(0, 0, width, height), high = Math.floor(0.78 * height);
    const blue = (x) => Array.from({ length: high }, (_, y) => 4 * (y * width + x)).some((at) => data[at] === 0 && data[at + 1] === 114 && data[at + 2] === 178);
    const columns = Array.from({ length: width }, (_, x) => x >= width / 2 && blue(x));
    return columns.filter((on, x) => on && !columns[x - 1]).length;
  }, [...new Uint8Array(await file(daemon, job, "features.png"))]);
  if (filled.length < 3 || drawn !== filled.length) throw new Error(`${drawn} points for ${filled.length} values`);
}
