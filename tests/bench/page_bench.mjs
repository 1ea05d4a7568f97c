// Measures how soon the dashboard shows a chart, how long a redraw takes, and whether the memory of the page grows.
//
//   node page_bench.mjs MOTIFD PAGE_JOBS MODULES [JOBS] [POINTS] [SOAK_SECONDS]
//
// Navigates ten times to a job among JOBS jobs with POINTS points each, in a new browser context, then once more in the same context (a second
// visit, for which the page remembers the charts of the first), and then by a click in the table. Each time it measures the milliseconds until the
// first chart's curve is complete. Opens the table of jobs 21 times in a new context, and prints its first contentful paint and
// the compressed bytes of the files that it loads. Then measures uPlot alone: 8 series of 2,000 points, set again 200 times. With SOAK_SECONDS, it
// opens a running job for that time and prints the page's heap after garbage collection at intervals.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Browser, Daemon, ENDLESS, sleep } from "../browser/harness.mjs";

const [program, maker, modules, jobs = "50", points = "1000000", soak = "0"] = process.argv.slice(2);
const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

const daemon = new Daemon(program), browser = new Browser(modules);
const begun = Date.now();
execFileSync(maker, [join(daemon.dir, "motifd.db"), jobs, points], { stdio: "inherit" });
console.log(`${jobs} jobs with ${points} points made in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
await daemon.start();
await browser.start();
const list = (await daemon.call("GET", "/v1/jobs?limit=1000")).jobs;

/** Resolves in the page when a chart's canvas has a painted curve: uPlot has drawn and the readout names a value. */
const drawn = () => new Promise((done) => {
  const look = () => (document.querySelector("figure.chart canvas") && /\d/.test(document.querySelector("figure.chart [data-line]")?.textContent ?? "") ? done(performance.now()) : requestAnimationFrame(look));
  look();
});

const cold = [], again = [], warm = [];
for (let i = 0; i < 10; i++) {
  const page = await browser.page(daemon.url);
  await page.goto(`${daemon.url}/#/jobs/${list[(7 * i) % list.length].id}/training`, { waitUntil: "commit" });
  cold.push(await page.evaluate(drawn)); // milliseconds since the navigation began
  await page.goto("about:blank");
  await page.goto(`${daemon.url}/#/jobs/${list[(7 * i + 1) % list.length].id}/training`, { waitUntil: "commit" });
  again.push(await page.evaluate(drawn));
  await page.goto(`${daemon.url}/#/`);
  await page.locator("table.jobs").waitFor();
  const start = await page.evaluate((id) => { location.hash = `#/jobs/${id}/training`; return performance.now(); }, list[(7 * i + 3) % list.length].id);
  warm.push((await page.evaluate(drawn)) - start);
  await page.context().close();
}
console.log(`first chart after opening the page: median ${middle(cold).toFixed(0)} ms, worst ${Math.max(...cold).toFixed(0)} ms`);
console.log(`first chart after opening the page again: median ${middle(again).toFixed(0)} ms, worst ${Math.max(...again).toFixed(0)} ms`);
console.log(`first chart after a click in the table: median ${middle(warm).toFixed(0)} ms, worst ${Math.max(...warm).toFixed(0)} ms`);

const paints = [];
let bytes = 0;
for (let i = 0; i < 21; i++) {
  const page = await browser.page(daemon.url);
  await page.goto(daemon.url, { waitUntil: "load" });
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
  bytes = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .filter((file) => !file.name.includes("/v1/")).reduce((sum, file) => sum + file.encodedBodySize, 0));
  await page.context().close();
}
console.log(`first paint of the table of jobs: median ${middle(paints).toFixed(0)} ms, worst ${Math.max(...paints).toFixed(0)} ms, ${bytes} bytes`);

const page = await browser.page(daemon.url, { axe: true });
await page.goto(daemon.url);
await page.addScriptTag({ path: join(modules, "node_modules/uplot/dist/uPlot.iife.min.js") });
const redraws = await page.evaluate(async () => {
  const x = Array.from({ length: 2000 }, (_, i) => i), series = (shift) => x.map((v) => Math.sin(v / 50 + shift));
  const data = (shift) => [x, ...Array.from({ length: 8 }, (_, s) => series(shift + s))];
  const plot = new window.uPlot({ width: 1200, height: 400, scales: { x: { time: false } }, series: [{}, ...Array.from({ length: 8 }, () => ({ stroke: "teal" }))] }, data(0), document.body);
  const times = [];
  for (let i = 0; i < 200; i++) {
    const next = data(i / 10), start = performance.now();
    plot.setData(next);
    await Promise.resolve(); // uPlot draws in a microtask, which runs before this await returns
    times.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  return times;
});
console.log(`8 series of 2,000 points drawn again: median ${middle(redraws).toFixed(1)} ms, 95 of 100 within ${[...redraws].sort((a, b) => a - b)[189].toFixed(1)} ms`);
await page.context().close();

if (Number(soak) > 0) {
  const job = await daemon.call("POST", "/v1/jobs", { kind: "sparling", preset: "digitcircle-quick", config: ENDLESS });
  const watch = await browser.page(daemon.url), tools = await watch.context().newCDPSession(watch);
  await watch.goto(`${daemon.url}/#/jobs/${job.id}`);
  await tools.send("HeapProfiler.enable");
  for (let passed = 0; passed <= Number(soak); passed += Number(soak) / 10) {
    await tools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await tools.send("Runtime.getHeapUsage");
    const samples = await watch.locator(".now dd").nth(3).innerText();
    console.log(`after ${passed.toFixed(0)} s: heap ${(usedSize / 1e6).toFixed(2)} MB at ${samples} samples`);
    await sleep(Number(soak) * 100);
  }
}
for (const line of browser.complaints) console.log(line);
await browser.close();
await daemon.close();
