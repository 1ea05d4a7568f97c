// Leaves the page of a running job open for an hour and measures the page's heap, DOM nodes and listeners, each after garbage collection. Fails
// when their averages over the last third of the hour exceed those of the second third by 10 % or more.
//
//   node soak.mjs MOTIFD MODULES [SECONDS]
//
// One window shows the job's curves, another the table of jobs. The page removes points from a curve when the curve has three times as many as a
// chart shows. The memory can be constant only after that. The job is as small as possible, so that it produces these points early.
import { Browser, Daemon, ENDLESS, none, sleep } from "./harness.mjs";

const [program, modules, seconds = "3600"] = process.argv.slice(2);
const ROUNDS = 30, GROWTH = 1.1;
const daemon = new Daemon(program), browser = new Browser(modules);

class Window {
  constructor(name, page, tools) {
    Object.assign(this, { name, page, tools, seen: [] });
  }

  static async open(name, address) {
    const page = await browser.page(daemon.url), tools = await page.context().newCDPSession(page);
    await page.goto(address);
    await tools.send("HeapProfiler.enable");
    return new Window(name, page, tools);
  }

  async measure() {
    for (let i = 0; i < 2; i++) await this.tools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await this.tools.send("Runtime.getHeapUsage"), counts = await this.tools.send("Memory.getDOMCounters");
    this.seen.push({ heap: usedSize, nodes: counts.nodes, listeners: counts.jsEventListeners });
    return `${this.name} ${(usedSize / 1e6).toFixed(2)} MB, ${counts.nodes} nodes, ${counts.jsEventListeners} listeners`;
  }

  /** Returns the average of the last third divided by that of the second third. */
  growth(what) {
    const third = Math.floor(this.seen.length / 3), mean = (list) => list.reduce((sum, v) => sum + v[what], 0) / list.length;
    return mean(this.seen.slice(-third)) / mean(this.seen.slice(-2 * third, -third));
  }
}

let status = 0;
try {
  await daemon.start();
  await browser.start();
  const job = await daemon.call("POST", "/v1/jobs", { kind: "sparling", preset: "digitcircle-quick", config: { ...ENDLESS, batch: 1, width: 8 } });
  await daemon.state(job.id, "running");
  const windows = [await Window.open("curves", `${daemon.url}/#/jobs/${job.id}`), await Window.open("table", `${daemon.url}/#/`)];
  const begun = Date.now();
  for (let round = 0; round <= ROUNDS; round++) {
    await sleep(begun + (round * Number(seconds) * 1000) / ROUNDS - Date.now());
    const measured = [];
    for (const w of windows) measured.push(await w.measure());
    const { samples } = (await daemon.call("GET", `/v1/jobs/${job.id}`)).progress;
    console.log(`${String(Math.round((Date.now() - begun) / 1000)).padStart(5)} s, ${samples} samples: ${measured.join("; ")}`);
  }
  for (const w of windows) {
    for (const what of ["heap", "nodes", "listeners"]) {
      const times = w.growth(what);
      console.log(`${w.name}: ${what} of the last third ${times.toFixed(3)} times those of the second`);
      if (!(times < GROWTH)) status = 1;
    }
  }
  none(browser.complaints, "complaints of the page");
} catch (fault) {
  console.error(fault);
  status = 1;
} finally {
  if (browser.browser) await browser.close();
  await daemon.close();
}
process.exit(status);
