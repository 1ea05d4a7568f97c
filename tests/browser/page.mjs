// Tests the dashboard in Chromium with a real daemon.
//
//   node page.mjs MOTIFD MODULES [SCREENSHOTS]
//
// MODULES contains node_modules with playwright-core and axe-core. With SCREENSHOTS, the script writes pictures of every page in both themes to
// that folder. Exit code 77: playwright-core or Chromium is missing.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Browser, Daemon, ENDLESS, none, Report, sleep, TINY } from "./harness.mjs";

const [program, modules, shots] = process.argv.slice(2);
if (!existsSync(join(modules, "node_modules/playwright-core")) || !existsSync(process.env.CHROMIUM ?? "/usr/bin/chromium")) {
  console.log("skipped: playwright-core or Chromium is missing; deploy/test browser fetches both");
  process.exit(77);
}
if (shots) mkdirSync(shots, { recursive: true });

const daemon = new Daemon(program), browser = new Browser(modules), report = new Report(), jobs = {};
const tiny = (more) => ({ kind: "sparling", preset: "digitcircle-quick", config: { ...TINY, ...more } });
const show = (page, hash) => page.goto(`${daemon.url}/${hash}`);
const text = (page, selector) => page.locator(selector).first().innerText();

async function submitByForm(page) {
  await show(page, "#/new");
  await page.getByLabel("Preset").selectOption("digitcircle-quick");
  for (const summary of await page.locator("details.rest summary").all()) await summary.click();
  for (const [field, value] of Object.entries(ENDLESS)) await page.locator(`#f-${field}`).fill(String(value));
  await page.getByLabel("Name", { exact: true }).fill("from the form");
  const width = page.locator("#f-width");
  await width.fill("0");
  await page.locator("#f-width-e").waitFor();
  const complaint = await text(page, "#f-width-e");
  if (!complaint.includes("must be an integer in [1, 1024]; got 0")) throw new Error(`unexpected fault at the field: ${complaint}`);
  if (!(await page.getByRole("button", { name: "Submit" }).isDisabled())) throw new Error("an invalid form can be submitted");
  await width.fill("16");
  await page.locator("#f-width-e").waitFor({ state: "detached" });
  browser.complaints = browser.complaints.filter((line) => !line.includes("422")); // the browser reports the dry run's refusal
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL(/#\/jobs\/[0-9A-Z]{26}$/);
  return page.url().split("/").pop();
}

/** Returns the steps of a line, in ascending order, from its chart's table. */
async function steps(page, chart) {
  const figure = page.locator("figure.chart", { hasText: chart }).first();
  const details = figure.locator("details.data");
  if (!(await details.getAttribute("open")) && (await details.getAttribute("open")) !== "") await details.locator("summary").click();
  return figure.locator("tbody tr td:first-child").allInnerTexts().then((cells) => cells.map(Number).reverse());
}

async function grows(page, chart) {
  const first = (await steps(page, chart)).at(-1) ?? 0;
  for (let i = 0; i < 200; i++) {
    if (((await steps(page, chart)).at(-1) ?? 0) > first) return;
    await sleep(100);
  }
  throw new Error(`no new point in ${chart} after step ${first}`);
}

/** Checks that the page has drawn the points that the daemon has: none is missing, none appears twice. */
async function complete(page, id) {
  const drawn = await steps(page, "Loss"), stored = (await daemon.call("GET", `/v1/jobs/${id}/metrics?name=loss&max_points=100000`)).series.loss.map((p) => p[0]);
  const from = stored.indexOf(drawn.find((step) => stored.includes(step))), want = stored.slice(from, from + drawn.length);
  const shared = drawn.filter((step) => stored.includes(step));
  if (shared.length < 5 || shared.some((step, i) => step !== want[i])) throw new Error(`drawn ${shared.slice(-12)}; stored ${want.slice(-12)}`);
}

await daemon.start();
await browser.start();
const page = await browser.page(daemon.url);
page.setDefaultTimeout(15000);

await report.test("an empty list of jobs offers to submit one", async () => {
  await show(page, "#/");
  await page.getByText("Submit a first job").waitFor();
});

await report.test("the form shows each fault of the server at its field, and submits", async () => {
  jobs.one = await submitByForm(page);
});

await report.test("curves and progress move while a job runs", async () => {
  await page.getByText("live", { exact: true }).waitFor();
  await page.locator("figure.chart", { hasText: "Loss" }).first().waitFor();
  await grows(page, "Loss");
  const before = await text(page, ".now");
  for (let i = 0; i < 100 && (await text(page, ".now")) === before; i++) await sleep(100);
  if ((await text(page, ".now")) === before) throw new Error("the progress does not change");
});

await report.test("the buttons pause and resume a job", async () => {
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".now .state.paused").waitFor({ timeout: 20000 });
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator(".now .state.running").waitFor({ timeout: 20000 });
  await grows(page, "Loss");
});

await report.test("a restart of the daemon under the open page leaves no gap", async () => {
  browser.away = true;
  await daemon.end("SIGKILL");
  await page.getByText("reconnecting").waitFor();
  await daemon.start();
  await page.getByText("live", { exact: true }).waitFor();
  browser.away = false;
  await page.locator(".now .state.running").waitFor({ timeout: 20000 });
  const last = (await steps(page, "Loss")).at(-1);
  for (let i = 0; i < 300 && (await steps(page, "Loss")).at(-1) <= last; i++) await sleep(100);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".now .state.paused").waitFor({ timeout: 20000 });
  await sleep(800);
  await complete(page, jobs.one);
});

await report.test("zoom requests the visible range from the daemon", async () => {
  const plot = page.locator("figure.chart", { hasText: "Loss" }).first().locator(".plot");
  await plot.focus();
  await Promise.all([page.waitForRequest((request) => /metrics\?.*since=\d+.*until=\d+/.test(request.url())), page.keyboard.press("+")]);
  if (!page.url().includes("from=")) throw new Error("the address does not contain the range");
  await page.keyboard.press("0");
  await page.waitForURL((url) => !url.hash.includes("from="));
});

await report.test("the table of jobs shows a cancelled job without a reload", async () => {
  const list = await browser.page(daemon.url);
  await show(list, "#/");
  await list.locator("tr", { hasText: "from the form" }).locator(".state.paused").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await list.locator("tr", { hasText: "from the form" }).locator(".state.cancelled").waitFor({ timeout: 20000 });
  await list.context().close();
});

await report.test("the motif explorer shows a sample and an upload, and applies an intervention", async () => {
  for (const seed of [2, 7]) jobs[seed] = (await daemon.call("POST", "/v1/jobs", { ...tiny({ total_samples: 400, seed }), name: `seed ${seed}` })).id;
  for (const seed of [2, 7]) await daemon.state(jobs[seed], "succeeded");
  await show(page, `#/jobs/${jobs[2]}/motifs?seed=5`);
  await page.getByText(/\d+ motifs, \d+ active of/).waitFor();
  const picture = await page.evaluate(() => { // a PNG of the right size
    const canvas = Object.assign(document.createElement("canvas"), { width: 32, height: 32 }), c = canvas.getContext("2d");
    c.fillStyle = "#fff";
    c.fillRect(0, 0, 32, 32);
    c.fillStyle = "#000";
    c.fillText("1", 12, 20);
    return canvas.toDataURL("image/png").split(",")[1];
  });
  await page.locator("input[type=file]").setInputFiles({ name: "one.png", mimeType: "image/png", buffer: Buffer.from(picture, "base64") });
  await page.getByRole("heading", { name: "one.png" }).waitFor();
  await page.getByText(/\d+ motifs, \d+ active of/).waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Prediction after:").waitFor();
  await page.locator(".chips button").first().click();
  await page.getByRole("heading", { name: /^Channel 0/ }).waitFor();
  await page.getByText(/in \d+ inputs/).waitFor({ timeout: 20000 });
});

await report.test("the comparison of two jobs matches their channels and lists their fields", async () => {
  await show(page, "#/");
  for (const seed of [2, 7]) await page.getByRole("checkbox", { name: new RegExp(`Compare seed ${seed}`) }).check();
  await page.getByRole("button", { name: "Compare 2" }).click();
  await page.getByText(/channels matched one to one agree/).waitFor({ timeout: 20000 });
  await page.locator("figure.chart").first().waitFor();
  await page.getByRole("cell", { name: "seed", exact: true }).first().waitFor();
});

await report.test("figures of a result have readable names", async () => {
  await show(page, `#/jobs/${jobs[2]}/result`);
  await page.getByRole("heading", { name: "Confusion matrix" }).waitFor();
  const names = await page.locator(".facts dt, thead th").allInnerTexts();
  for (const name of ["false positives (FPE)", "confusion, channels matched one to one", "error of the proof (E_m)"])
    if (!names.includes(name)) throw new Error(`no ${name} among ${names.join("; ")}`);
  none(names.filter((name) => /^(e m|ce|ce assignment|ce majority|fpe|fne)$/i.test(name) || name.replace("E_m", "").includes("_")), "figures with the daemon's internal names");
});

await report.test("an invalid data set is refused with its row; a valid one is uploaded, previewed and deleted", async () => {
  const put = (text) => page.locator("input[type=file]").setInputFiles({ name: "mine.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  const rows = Array.from({ length: 40 }, (_, i) => `${i % 7},${i % 5},${i % 2 ? "a" : "b"}\n`).join("");
  await show(page, "#/data");
  await page.getByText("No data sets yet").waitFor();
  await put(`one,two,label\n1,oops,a\n`);
  await page.getByText("'oops' is not a number").waitFor();
  browser.complaints = browser.complaints.filter((line) => !line.includes("422")); // the browser reports the refusal
  await put(`one,two,label\n${rows}`);
  await page.getByRole("heading", { name: "mine" }).waitFor();
  await page.waitForFunction(() => document.querySelector("img.preview")?.naturalWidth > 0);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete permanently" }).click();
  await page.getByText("No data sets yet").waitFor();
  await put(`one,two,label\n${rows}`); // the screenshots below show this data set
  await page.getByRole("heading", { name: "mine" }).waitFor();
});

async function others() {
  const small = {
    rug: { kind: "superposition", preset: "rug", config: { n_s: 32, n_d: 8, test_samples: 200 } },
    factors: { kind: "factors", preset: "synthetic", config: { epochs: 4, restarts: 1, screen_epochs: 2 } },
    tree: { kind: "environments", preset: "tree-linear", config: { seeds: 1, updates: 60, baselines: "pooled,none" } },
    pathways: { kind: "pathways", preset: "two-layer", config: { dictionaries: 1, trials: 8, draws: 2, points: 3, sizes: 1 } },
  };
  for (const [name, body] of Object.entries(small)) jobs[name] = (await daemon.call("POST", "/v1/jobs", body)).id;
  for (const name of Object.keys(small)) {
    const job = await daemon.state(jobs[name], "succeeded", "failed");
    if (job.state === "failed") throw new Error(`${name}: ${JSON.stringify(job.error)}`);
  }
}

await report.test("small jobs of the other kinds succeed", others);

const places = () => ({
  jobs: ["#/", "Jobs"], new: ["#/new", "Estimate"], system: ["#/system", "Machine"], data: ["#/data", "mine"], compare: [`#/compare?jobs=${jobs[2]},${jobs[7]}`, "Matched with"],
  training: [`#/jobs/${jobs[2]}`, "Motif errors"], motifs: [`#/jobs/${jobs[2]}/motifs?channel=1`, "Activations"], result: [`#/jobs/${jobs[2]}/result`, "Confusion matrix"],
  config: [`#/jobs/${jobs[2]}/config`, "Seed of the training samples"], files: [`#/jobs/${jobs[2]}/files`, "Checkpoints"], rug: [`#/jobs/${jobs.rug}/rug`, "Bayes bound"],
  factors: [`#/jobs/${jobs.factors}/factors`, "factor 0"], tree: [`#/jobs/${jobs.tree}/tree`, "latent 0"], pathways: [`#/jobs/${jobs.pathways}/pathways`, "stripe sparsity"],
});

for (const theme of ["light", "dark"]) {
  await report.test(`axe finds no violation on any page in the ${theme} theme${theme === "light" ? ", and every page fits into 360 pixels" : ""}`, async () => {
    const found = [], view = await browser.page(daemon.url, { axe: true, context: { colorScheme: theme } });
    for (const [name, [hash, sign]] of Object.entries(places())) {
      await view.setViewportSize({ width: 1280, height: 900 });
      await show(view, hash);
      await view.getByText(sign).first().waitFor({ timeout: 10000 }).catch(() => found.push(`${name}: '${sign}' is not on the page`));
      await sleep(150); // for the parts of the page that appear after this text
      found.push(...(await browser.violations(view)).map((line) => `${name}: ${line}`));
      if (shots) await view.screenshot({ path: join(shots, `${name}-${theme}.png`), fullPage: true });
      if (theme === "dark") continue;
      await view.setViewportSize({ width: 360, height: 740 });
      await sleep(120);
      const excess = await view.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (excess > 0) found.push(`${name}: ${excess} px wider than a window of 360`);
      if (shots) await view.screenshot({ path: join(shots, `${name}-narrow.png`), fullPage: true });
    }
    await view.context().close();
    none(found, "found");
  });
}

await report.test("the page asks for a token that the daemon requires", async () => {
  const guarded = new Daemon(program, ["--token", "a-token-of-this-test"]);
  await guarded.start();
  const view = await browser.page(guarded.url);
  await view.goto(guarded.url);
  for (const token of ["not this one", "a-token-of-this-test"]) {
    await view.getByRole("textbox", { name: "Token" }).fill(token);
    await view.getByRole("button", { name: "Use token" }).click();
    await view.getByText(token === "not this one" ? "rejected this token" : "Submit a first job").waitFor();
  }
  await view.context().close();
  await guarded.close();
  browser.complaints = browser.complaints.filter((line) => !line.includes("401")); // the browser reports the refusals
});

await report.test("no page has written to the console or sent a request to another server", async () => none(browser.complaints, "complaints"));

await browser.close();
await daemon.close();
report.end();
