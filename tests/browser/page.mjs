// Tests the dashboard in Chromium with a real daemon.
//
//   node page.mjs MOTIFD MODULES [SCREENSHOTS]
//
// MODULES contains node_modules with playwright-core and axe-core. With SCREENSHOTS, the script writes pictures of every page in both themes to
// that folder. Exit code 77: playwright-core or Chromium is missing.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { archive, numbers, sound, tensors, zip } from "./files.mjs";
import { Browser, Daemon, ENDLESS, none, Report, sleep, TINY, until } from "./harness.mjs";
import { fewValuesArePoints, weightsHaveTheirColours } from "./rug.mjs";

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
  const closed = page.locator("details.rest:not([open]) > summary");
  for (const [field, value] of Object.entries(ENDLESS)) {
    await until(`the field ${field}`, async () => { // a group shows its own folded groups some time after it has opened
      if (await closed.count()) await closed.first().click();
      return page.locator(`#f-${field}`).count();
    });
    await page.locator(`#f-${field}`).fill(String(value));
  }
  await page.getByLabel("Name", { exact: true }).fill("from the form");
  const width = page.locator("#f-width");
  await width.fill("0");
  await page.locator("#f-width-e").waitFor();
  const complaint = await text(page, "#f-width-e");
  if (!complaint.includes("must be an integer in [1, 1024]; got 0")) throw new Error(`unexpected fault at the field: ${complaint}`);
  if (!(await page.getByRole("button", { name: "Submit" }).isDisabled())) throw new Error("an invalid form can be submitted");
  await width.fill("16");
  await page.locator("#f-width-e").waitFor({ state: "detached" });
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
  await until(`a new point in ${chart} after step ${first}`, async () => ((await steps(page, chart)).at(-1) ?? 0) > first);
}

/** Returns the steps of the loss that the daemon has stored. */
const lossSteps = async (id) => (await daemon.call("GET", `/v1/jobs/${id}/metrics?name=loss&max_points=100000`)).series.loss.map((p) => p[0]);

/** Checks that the page has drawn the points that the daemon has: none is missing, none appears twice. */
async function complete(page, id) {
  const drawn = await steps(page, "Loss"), stored = await lossSteps(id);
  const from = stored.indexOf(drawn.find((step) => stored.includes(step))), want = stored.slice(from, from + drawn.length);
  const shared = drawn.filter((step) => stored.includes(step));
  if (shared.length < 5 || shared.some((step, i) => step !== want[i])) throw new Error(`drawn ${shared.slice(-12)}; stored ${want.slice(-12)}`);
}

/** Sequences of bases, half of them with TATAAT. */
const FASTA = Array.from({ length: 40 }, (_, i) => `>s${i} label=${i % 2 ? "yes" : "no"}\n${Array.from({ length: 60 }, (_b, t) => (i % 2 && t >= 20 && t < 26 ? "TATAAT"[t - 20] : "ACGT"[(i * 7 + t * t * 3 + t) % 4])).join("")}\n`).join("");

async function signals() {
  const put = await fetch(`${daemon.url}/v1/datasets/bases?format=fasta`, { method: "PUT", body: FASTA, headers: { "Content-Type": "text/x-fasta" } });
  if (!put.ok) throw new Error(await put.text());
  const config = { dataset_name: "bases", total_samples: 600, validation_every: 200, checkpoint_every: 200, width: 16, motifs: 4, units: 1, density_start: 0.05, density_final: 0.02, strands: "both" };
  jobs.bases = (await daemon.call("POST", "/v1/jobs", { kind: "sparling", preset: "dataset", name: "bases", config })).id;
  await daemon.state(jobs.bases, "succeeded");
  await show(page, `#/jobs/${jobs.bases}/motifs`);
  await page.getByRole("img", { name: /^Logo of / }).first().waitFor();
  const made = (await daemon.call("GET", `/v1/jobs/${jobs.bases}/channels`)).channels.some((c) => c.matrix);
  if (made) {
    const motif = "MEME version 4\nMOTIF M1 TBP\nletter-probability matrix: w= 6\n" + "TATAAT".split("").map((b) => ["A", "C", "G", "T"].map((x) => (x === b ? "1" : "0")).join(" ")).join("\n") + "\n";
    if (!(await fetch(`${daemon.url}/v1/datasets/known?format=meme`, { method: "PUT", body: motif, headers: { "Content-Type": "text/x-meme" } })).ok) throw new Error("the motifs were refused");
    await page.reload();
    await page.getByLabel("Compare with").selectOption("known");
    await page.getByText(/M1, q /).first().waitFor();
    await page.getByLabel(/^File/).selectOption("sites.bed");
    await page.getByRole("button", { name: "Save sites.bed" }).waitFor();
  }
  if ((await daemon.call("GET", `/v1/jobs/${jobs.bases}/channels`)).channels.filter((c) => c.matrix).length > 1) {
    for (const [what, empty] of [["pairs in the data", "No two motifs occur together"], ["rules of the model", "no arrangement"]]) {
      await page.getByRole("button", { name: `Show ${what}` }).click();
      const file = page.getByRole("button", { name: `Save ${what.split(" ")[0]}.json` }), panel = page.locator("section", { has: file });
      await file.waitFor();
      await panel.getByRole("table").or(panel.getByText(empty)).first().waitFor();
    }
  }
  await show(page, `#/jobs/${jobs.bases}/motifs?seed=1`);
  await page.getByRole("img", { name: /^The input as letters/ }).waitFor();
  if (!(await page.getByRole("columnheader", { name: "Position" }).isVisible())) throw new Error("the motifs of a sequence have no position");
  await page.getByRole("heading", { name: /^Sample 1, s\d+$/ }).waitFor(); // the name of the record
  await page.getByRole("columnheader", { name: "Strand" }).waitFor();
  const sample = (cols, channels) => ({ checkpoint: { seq: 1, density: 0.1 }, answers: [{ shape: [1, cols, 4], motif_count: 1, motifs: [{ position: [0, 9], channel: 1, value: 1, maximal: true }], truth: null, prediction: [],
    input: { shape: [1, cols, ...(channels > 1 ? [channels] : [])], values: Array.from({ length: cols * channels }, (_, i) => Math.sin(i / 5)), zero: 10, unit: 2 } }] });
  for (const [channels, look] of [[1, "lines"], [64, "a spectrogram"]]) {
    await page.route(/\/v1\/jobs\/[^/]+\/motifs$/, (route) => route.fulfill({ json: sample(80, channels) }));
    await show(page, `#/jobs/${jobs.bases}/motifs?seed=${channels + 1}`);
    const picture = page.getByRole("img", { name: new RegExp(`^The input as ${look}`) });
    await picture.waitFor();
    await sleep(200);
    const strip = await picture.evaluate((canvas) => { // counts the colours on the left, where the axis has its numbers, and in the middle
      const c = canvas.getContext("2d"), inked = (x, y, w, h) => { const d = c.getImageData(x, y, w, h).data; return new Set(Array.from({ length: d.length / 4 }, (_, i) => `${d[4 * i]},${d[4 * i + 1]},${d[4 * i + 2]}`)).size; };
      return [inked(0, 30, 36, canvas.height - 70), inked(Math.round(canvas.width / 2), 40, 40, canvas.height - 90)];
    });
    if (strip.some((colours) => colours < 3)) throw new Error(`${look}: ${strip} colours in the axis and in the values`);
    browser.complaints = browser.complaints.filter((line) => !line.includes("willReadFrequently")); // the browser gives advice about how this test reads the canvas
    await page.unroute(/\/v1\/jobs\/[^/]+\/motifs$/);
  }
}

await daemon.start();
await browser.start();
const page = await browser.page(daemon.url);

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
  await until("a change of the progress", async () => (await text(page, ".now")) !== before);
});

await report.test("the buttons pause and resume a job", async () => {
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".now .state.paused").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator(".now .state.running").waitFor();
  await grows(page, "Loss");
});

await report.test("a restart of the daemon under the open page leaves no gap", async () => {
  browser.away = true;
  await daemon.end("SIGKILL");
  await page.getByText("reconnecting").waitFor();
  await daemon.start();
  await page.getByText("live", { exact: true }).waitFor();
  browser.away = false;
  await page.locator(".now .state.running").waitFor();
  const last = (await steps(page, "Loss")).at(-1);
  await until(`a point of the loss after step ${last}`, async () => (await steps(page, "Loss")).at(-1) > last);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".now .state.paused").waitFor();
  const stored = (await lossSteps(jobs.one)).at(-1);
  await until(`the point of the loss at step ${stored}`, async () => (await steps(page, "Loss")).at(-1) >= stored);
  await complete(page, jobs.one);
});

await report.test("the curves of a job of any kind are there when the page is opened again", async () => {
  const rug = await daemon.call("POST", "/v1/jobs", { kind: "superposition", preset: "rug", name: "opened again", config: { n_s: 32, n_d: 8, test_samples: 200 } });
  for (const [id, chart] of [[jobs.one, "Loss"], [rug.id, null]]) {
    await show(page, `#/jobs/${id}`);
    const early = page.waitForResponse((response) => response.url().includes("/metrics?"));
    await page.reload();
    if (!(await early).ok()) throw new Error(`${(await early).status()} for the first request of curves`);
    await page.locator(".now").waitFor();
    if (chart) await page.locator("figure.chart", { hasText: chart }).first().waitFor();
    if (await page.locator(".fault").count()) throw new Error(await text(page, ".fault"));
  }
  await show(page, `#/jobs/${jobs.one}`);
  await page.locator("figure.chart", { hasText: "Loss" }).first().waitFor();
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
  await page.getByRole("button", { name: "Keep the job" }).click();
  if ((await daemon.call("GET", `/v1/jobs/${jobs.one}`)).requested_state) throw new Error("the job was cancelled without a confirmation");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await list.locator("tr", { hasText: "from the form" }).locator(".state.cancelled").waitFor();
  await list.context().close();
});

await report.test("the motif explorer shows a sample and an upload, and applies an intervention", async () => {
  for (const seed of [2, 7]) jobs[seed] = (await daemon.call("POST", "/v1/jobs", { ...tiny({ total_samples: 400, seed }), name: `seed ${seed}` })).id;
  for (const seed of [2, 7]) await daemon.state(jobs[seed], "succeeded");
  await show(page, `#/jobs/${jobs[2]}/motifs?seed=5`);
  await page.getByText(/\d+ motifs?, \d+ active of/).waitFor();
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
  await page.getByText(/\d+ motifs?, \d+ active of/).waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Prediction after:").waitFor();
  await page.locator(".chips button").first().click();
  await page.getByRole("heading", { name: /^Channel 0/ }).waitFor();
  await page.getByText(/in \d+ inputs/).waitFor();
});

await report.test("the motifs begin with a gallery of the channels: name, crops and use, with links", async () => {
  await show(page, `#/jobs/${jobs[2]}/motifs`);
  const used = (await daemon.call("GET", `/v1/jobs/${jobs[2]}/channels`)).channels.filter((c) => c.active > 0);
  const cards = page.getByRole("list", { name: "Channels" }).locator(":scope > li");
  await cards.first().waitFor();
  if ((await cards.count()) !== used.length) throw new Error(`${await cards.count()} cards for ${used.length} channels in use`);
  const most = Math.max(...used.map((c) => c.inputs));
  await cards.first().getByText(`in ${most} of 100 inputs`).waitFor();
  await cards.first().locator("canvas").first().waitFor();
  await cards.first().locator("h2 a").click();
  await page.getByRole("heading", { name: /^Channel \d/ }).waitFor();
  await page.locator(".crops a.crop").first().click();
  await page.waitForURL(/seed=\d+/);
  await page.getByRole("heading", { name: /^Sample \d/ }).waitFor();
});

await report.test("a channel has one colour on the page and in the daemon's pictures", async () => {
  await show(page, `#/jobs/${jobs[2]}/motifs?seed=5`);
  await page.locator(".chips .swatch").first().waitFor();
  const swatches = await page.locator(".chips .swatch").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor.match(/\d+/g).map(Number)));
  for (let seed = 0, left = 3; left > 0 && seed < 40; seed++) {
    const body = JSON.stringify({ inputs: [{ sample: { seed } }] }), path = `${daemon.url}/v1/jobs/${jobs[2]}/motifs`, headers = { "Content-Type": "application/json" };
    const { motifs } = (await (await fetch(path, { method: "POST", headers, body })).json()).answers[0], marked = motifs.find((m) => m.maximal);
    if (!marked) continue;
    left--;
    const png = await (await fetch(path, { method: "POST", headers: { ...headers, Accept: "image/png" }, body })).arrayBuffer();
    const has = await page.evaluate(async ([bytes, colour]) => {
      const picture = await createImageBitmap(new Blob([Uint8Array.from(bytes)], { type: "image/png" })), canvas = new OffscreenCanvas(picture.width, picture.height), c = canvas.getContext("2d");
      c.drawImage(picture, 0, 0);
      const data = c.getImageData(0, 0, picture.width, picture.height).data;
      for (let i = 0; i < data.length; i += 4) if (colour.every((part, k) => data[i + k] === part)) return true;
      return false;
    }, [[...new Uint8Array(png)], swatches[marked.channel]]);
    if (!has) throw new Error(`the picture of sample ${seed} has no pixel in the colour ${swatches[marked.channel]} of channel ${marked.channel}`);
  }
});

await report.test("the model reads what the user draws on the input, while the user draws", async () => {
  await show(page, `#/jobs/${jobs[2]}/motifs?seed=5`);
  await page.getByText(/\d+ motifs?, \d+ active of/).waitFor();
  await page.getByRole("button", { name: "Draw" }).click();
  await page.getByRole("heading", { name: "Drawing" }).waitFor();
  const sent = [];
  page.on("request", (request) => { if (request.url().endsWith("/motifs") && request.postData()?.includes('"array"')) sent.push(JSON.parse(request.postData()).inputs[0].array); });
  await page.getByRole("button", { name: "Blank" }).click();
  await until("a reading of the blank image", () => sent.at(-1)?.flat().every((v) => v === 0));
  sent.length = 0;
  const canvas = page.locator("canvas.motif-map").first();
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
  await page.mouse.down();
  for (let i = 0; i <= 8; i++) {
    await page.mouse.move(box.x + box.width * (0.3 + 0.05 * i), box.y + box.height * 0.3);
    await sleep(60);
  }
  if (sent.length === 0) throw new Error("nothing was read while the pointer was down");
  await page.mouse.up();
  await until("a reading with the stroke", () => (sent.at(-1)?.flat().filter((v) => v === 1).length ?? 0) > 8);
  const rows = sent.at(-1).map((row, r) => (row.some((v) => v === 1) ? r : -1)).filter((r) => r >= 0);
  if (rows.some((r) => r < 8 || r > 11)) throw new Error(`a stroke at 30 % of the height filled the rows ${rows}`);
});

await report.test("the comparison of two jobs matches their channels and lists their fields", async () => {
  await show(page, "#/");
  for (const seed of [2, 7]) await page.getByRole("checkbox", { name: new RegExp(`^Select seed ${seed}`) }).check();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText(/channels matched one to one agree/).waitFor();
  await page.locator("figure.chart").first().waitFor();
  await page.getByRole("cell", { name: "seed", exact: true }).first().waitFor();
  const proof = page.getByRole("cell", { name: "error of the proof (E_m)" });
  if (await proof.isVisible()) throw new Error("a figure for research is among the others");
  await page.getByText("Research", { exact: true }).click();
  await proof.waitFor();
  await page.getByText("Both jobs have read 48 test inputs").waitFor(); // input by input
  const read = async (id) => (await daemon.call("POST", `/v1/jobs/${id}/motifs`, { inputs: Array.from({ length: 48 }, (_, seed) => ({ sample: { seed } })) })).answers.map((a) => a.prediction.join(" "));
  const [first, second] = [await read(jobs[2]), await read(jobs[7])], differ = first.filter((text, i) => text !== second[i]).length;
  await page.getByRole("combobox", { name: /^Show/ }).locator("option", { hasText: `the answers differ (${differ})` }).waitFor({ state: "attached" });
  await until("the inputs that differ", async () => (await page.getByRole("list", { name: "Inputs of both jobs" }).locator(":scope > li").count()) === Math.min(12, differ));
});

await report.test("the verdict with its findings stands above the progress of a finished job", async () => {
  await show(page, `#/jobs/${jobs[2]}/training`);
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.waitFor();
  if (!/^(Learned|Learned in part|Not learned)/.test(await verdict.innerText())) throw new Error(await verdict.innerText());
  const above = await page.evaluate(() => {
    const [verdict, now] = [".verdict", ".now"].map((name) => document.querySelector(name));
    return Boolean(verdict.compareDocumentPosition(now) & Node.DOCUMENT_POSITION_FOLLOWING);
  });
  if (!above) throw new Error("the verdict is not above the progress");
  await verdict.getByText(/Try:/).first().waitFor();
});

await report.test("a finished job opens on its answer: the most doubtful inputs first, right and wrong told apart, and a click pins one to the report", async () => {
  const id = jobs[2], list = page.getByRole("list", { name: "Test inputs" }), cards = list.locator(":scope > li");
  await show(page, `#/jobs/${id}`);
  if ((await page.locator(".tabs a[aria-current]").innerText()) !== "Answer") throw new Error("another part is open");
  await until("24 of 48 inputs", async () => (await cards.count()) === 24 && (await page.getByText(/48 test inputs, \d+ right and \d+ wrong\./).count()) === 1);
  const body = { inputs: Array.from({ length: 48 }, (_, seed) => ({ sample: { seed } })) }, { answers } = await daemon.call("POST", `/v1/jobs/${id}/motifs`, body);
  const order = answers.map((a, seed) => ({ seed, sure: a.probability, right: JSON.stringify(a.label) === JSON.stringify(a.prediction) })).sort((a, b) => a.sure - b.sure || a.seed - b.seed);
  const links = await cards.locator("h2 a").evaluateAll((all) => all.map((a) => Number(/seed=(\d+)/.exec(a.href)[1])));
  const sure = links.map((seed) => answers[seed].probability);
  if (sure.some((p, i) => i > 0 && p < sure[i - 1]) || sure.at(-1) > order[23].sure) throw new Error(`in the order ${links}; by doubt ${order.map((e) => e.seed)}`);
  for (const [i, seed] of links.slice(0, 6).entries()) await cards.nth(i).getByText(order.find((e) => e.seed === seed).right ? "✓ right" : "✗ wrong").waitFor();
  const wrong = order.filter((e) => !e.right);
  await page.getByRole("combobox", { name: /^Show/ }).selectOption("wrong");
  await until("only wrong inputs", async () => (await cards.count()) === Math.min(24, wrong.length) && (await cards.locator(".judged .right").count()) === 0);
  await page.getByRole("combobox", { name: /^Show/ }).selectOption("all");
  await cards.nth(1).getByRole("button", { name: /^Pin/ }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Report with 1 pinned" }).click()]);
  if (!readFileSync(await download.path(), "utf8").includes("<h3>Pinned")) throw new Error("the report does not begin with the pinned input");
  await page.reload();
  await page.getByRole("combobox", { name: /^Show/ }).selectOption("pinned");
  await until("the pinned input", async () => (await cards.count()) === 1);
  await page.getByRole("combobox", { name: /^Show/ }).selectOption("all");
  const cell = page.locator(".matrix .cell").first(), count = Number(await cell.innerText());
  await cell.focus();
  await page.keyboard.press("Enter");
  await until("the inputs of the cell", async () => { const n = await cards.count(); return n > 0 && n <= count; });
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("combobox", { name: /^Keep marks/ }).selectOption("0.1");
  await page.getByText(/at most \d+ are false \(95 %\)|There is no bound: /).waitFor();
  await page.evaluate(() => localStorage.clear());
});

await report.test("a review shows one mark after another, three keys answer, and the estimate follows each answer", async () => {
  const id = jobs[2], { answers: [{ motifs }] } = await daemon.call("POST", `/v1/jobs/${id}/motifs`, { inputs: [{ sample: { seed: 4 } }] }), mark = motifs[0] ?? { position: [9, 9], extent: null };
  const cards = Array.from({ length: 3 }, (_, i) => ({ id: `m${i}`, name: "ring", channel: 1, input: { sample: 4, index: 40 + i, file: null }, position: mark.position, extent: mark.extent, score: 1, q: 0.02, ...(i === 2 ? { context: ["before ", "marked", " after"] } : {}), answer: null }));
  const given = [], estimate = () => ({ marks: 50, answers: given.length, yes: given.filter((g) => g.answer === "yes").length, no: given.filter((g) => g.answer === "no").length, unsure: given.filter((g) => g.answer === "unsure").length, share: given.length ? 0.5 : null, low: 0.01, high: 0.99, confidence: 0.95 });
  const view = await browser.page(daemon.url, { axe: true, context: { viewport: { width: 360, height: 740 } } });
  await view.route(/\/v1\/kinds$/, async (route) => { // a daemon whose models list their marks
    const body = await (await route.fetch()).json(), kind = body.kinds.find((k) => k.kind === "sparling");
    if (!kind.queries.some((q) => q.name === "marks")) kind.queries.push({ name: "marks", item: "sample", meaning: "", method: "GET", takes: "nothing", draws: true, formats: [], files: [] });
    await route.fulfill({ json: body });
  });
  await view.route(/\/review\?count=20$/, (route) => {
    if (route.request().method() === "POST") given.push(...route.request().postDataJSON().answers);
    return route.fulfill({ json: { job: id, samples: 9, marks: 50, estimate: estimate(), cards } });
  });
  await show(view, `#/jobs/${id}/review`);
  for (const [at, key] of ["y", "n", "u"].entries()) {
    await view.getByRole("heading", { name: `Mark ${at + 1} of 3` }).waitFor();
    await (at < 2 ? view.getByRole("img", { name: "The input with the mark ring" }) : view.locator("mark", { hasText: "marked" })).waitFor();
    none(await browser.violations(view), "violations");
    if ((await view.evaluate(() => document.documentElement.scrollWidth)) > 360) throw new Error("a card is wider than a phone");
    await view.keyboard.press(key);
    await until("the answer", () => given.length === at + 1);
  }
  if (given.map((g) => `${g.id} ${g.answer}`).join() !== "m0 yes,m1 no,m2 unsure") throw new Error(JSON.stringify(given));
  await view.getByText("Of 2 marks that you judged, 1 is false").waitFor();
  await view.getByText("Among all 50 marks, the false share is 50 % (1 % to 99 %, 95 %). Unsure: 1.").waitFor();
  await view.getByText("All 3 marks are judged").waitFor();
  await view.context().close();
});

await report.test("figures of a result have readable names", async () => {
  await show(page, `#/jobs/${jobs[2]}/result`);
  await page.getByRole("heading", { name: "Confusion matrix" }).waitFor();
  const welch = page.getByText("Welch bound of the coherence"), research = page.locator("details.rest", { hasText: "Research" });
  if (await welch.isVisible()) throw new Error("a figure for research is among the others");
  await research.locator("summary").click();
  await welch.waitFor();
  const last = (await daemon.call("GET", `/v1/jobs/${jobs[2]}`)).result.by_density.reduce((a, b) => (b.density < a.density ? b : a));
  const shown = await page.locator("figure.chart", { hasText: "Errors by density" }).locator("[data-line]").allInnerTexts();
  if (Math.abs(parseFloat(shown[1]) - 100 * last.fne) > 0.1) throw new Error(`the legend shows ${shown}; at the smallest density, FNE is ${last.fne}`);
  const names = await page.locator(".facts dt, thead th").allInnerTexts();
  for (const name of ["false positives (FPE)", "confusion, channels matched one to one", "error of the proof (E_m)"])
    if (!names.includes(name)) throw new Error(`no ${name} among ${names.join("; ")}`);
  const cell = page.locator("table.matrix td a").first(), count = Number(await cell.innerText());
  await cell.click();
  await until("the inputs of a cell", async () => (await page.getByRole("list", { name: "Test inputs" }).locator(":scope > li").count()) > 0 || (await page.getByText("passes these filters").count()) > 0);
  if (!page.url().includes("marks=") || !(count > 0)) throw new Error(page.url());
  none(names.filter((name) => /^(e m|ce|ce assignment|ce majority|fpe|fne)$/i.test(name) || name.replace("E_m", "").includes("_")), "figures with the daemon's internal names");
});

await report.test("the table of jobs sorts by each column, shows the chosen columns, and keeps both", async () => {
  await show(page, "#/");
  const names = async () => (await page.locator("table.jobs tbody th a").allInnerTexts()), head = page.getByRole("columnheader", { name: "Job", exact: true });
  await page.locator("table.jobs tbody tr").first().waitFor();
  await head.getByRole("button").click();
  await until("names in descending order", async () => { const now = await names(); return now.length > 2 && now.every((n, i) => i === 0 || now[i - 1].localeCompare(n) >= 0); });
  await head.getByRole("button").click();
  await until("names in ascending order", async () => (await names()).every((n, i, all) => i === 0 || all[i - 1].localeCompare(n) <= 0));
  if ((await head.getAttribute("aria-sort")) !== "ascending") throw new Error("the heading does not name its order");
  await page.getByText("Columns", { exact: true }).click();
  await page.getByRole("checkbox", { name: "Preset" }).check();
  await page.getByRole("checkbox", { name: "Progress" }).uncheck();
  await page.reload();
  await page.getByRole("columnheader", { name: "Preset" }).waitFor();
  if (await page.getByRole("columnheader", { name: "Progress" }).count()) throw new Error("a column that was left out is back");
  if ((await page.getByRole("columnheader", { name: "Job", exact: true }).getAttribute("aria-sort")) !== "ascending") throw new Error("the order is gone after a reload");
  await page.evaluate(() => localStorage.removeItem("motifd-columns"));
  await daemon.call("PATCH", `/v1/jobs/${jobs[2]}`, { tags: ["first & best"] });
  await page.reload();
  await Promise.all([page.waitForRequest((request) => request.url().endsWith("&tag=first%20%26%20best")), page.getByRole("button", { name: "first & best" }).click()]); // the daemon filters: the page has only its newest jobs
  await until("one row", async () => (await names()).join() === "seed 2");
  await daemon.call("PATCH", `/v1/jobs/${jobs[2]}`, { tags: [] });
});

await report.test("several jobs are cancelled and deleted together, after a confirmation", async () => {
  const made = [];
  for (const n of [1, 2]) made.push((await daemon.call("POST", "/v1/jobs", { kind: "sparling", preset: "digitcircle-quick", config: ENDLESS, name: `many ${n}` })).id);
  await show(page, "#/?q=many");
  for (const n of [1, 2]) await page.getByRole("checkbox", { name: new RegExp(`^Select many ${n}`) }).check();
  for (const [verb, over] of [["Cancel", (job) => job?.state === "cancelled"], ["Delete", (job) => job === null]]) {
    await page.getByRole("button", { name: verb, exact: true }).click();
    const before = await Promise.all(made.map((id) => daemon.call("GET", `/v1/jobs/${id}`)));
    if (before.some((job) => verb === "Cancel" && job.requested_state)) throw new Error("jobs were cancelled without a confirmation");
    await page.getByRole("button", { name: `${verb} 2 jobs` }).click();
    for (const id of made) await until(`${verb} of ${id}`, async () => over(await daemon.call("GET", `/v1/jobs/${id}`).catch(() => null)));
    if (verb === "Cancel") await until("two cancelled rows", async () => (await page.locator("table.jobs .state.cancelled").count()) === 2);
  }
});

await report.test("a study is one row that opens into its jobs, and its page draws any result against any field", async () => {
  const study = await daemon.call("POST", "/v1/studies", { ...tiny({ total_samples: 40, width: undefined }), name: "widths", grid: { width: [16, 24] }, seeds: 2 });
  jobs.study = study.id;
  await until("four jobs", async () => (await daemon.call("GET", `/v1/studies/${study.id}?brief=1`)).states.succeeded === 4);
  await show(page, "#/?q=widths");
  const row = page.locator("tr.study", { hasText: "widths" });
  await row.getByText("4 of 4 done").waitFor();
  if (await page.locator("tr.member").count()) throw new Error("the jobs of a study are shown before it is opened");
  await row.getByRole("button", { name: /^Jobs of widths/ }).click();
  await until("the rows of four jobs", async () => (await page.locator("tr.member").count()) === 4);
  await page.locator("tr.member", { hasText: "widths: width=24 seed=2" }).waitFor();
  await row.getByRole("link", { name: "widths" }).click();
  const picture = page.locator("img.made");
  await picture.waitFor();
  const first = await picture.getAttribute("src");
  await page.getByRole("combobox", { name: /^Result/ }).selectOption("fne");
  await until("another picture", async () => (await picture.count()) === 1 && (await picture.getAttribute("src")) !== first && (await picture.getAttribute("alt")).includes("against width"));
  if (!page.url().includes("y=fne")) throw new Error("the address does not contain the result");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
  if (lines.length !== 3 || !lines[0].startsWith("width,jobs,done,")) throw new Error(lines.join());
  await page.getByRole("link", { name: "widths: width=16 seed=1" }).click();
  await page.getByRole("link", { name: "study" }).waitFor(); // from a job back to its study
});

await report.test("the configuration highlights what was set for the job, beside the value of the preset", async () => {
  await show(page, `#/jobs/${jobs[2]}/configuration`);
  const row = page.locator("tr", { hasText: "image_size" }).first();
  await row.locator("mark", { hasText: "the preset has 64" }).waitFor();
  if (await page.locator("tr", { hasText: /^domain/ }).locator("mark").count()) throw new Error("a value of the preset is highlighted");
});

await report.test("addresses of earlier versions are read, and unknown ones say so", async () => {
  await show(page, `#/jobs/${jobs[2]}/config`);
  await page.locator("tr", { hasText: "image_size" }).first().waitFor();
  await show(page, `#/jobs/${jobs[2]}/constructor`);
  await page.getByText("This job has no page “constructor”").waitFor();
  await show(page, "#/nowhere/x");
  await page.getByText("There is no page “nowhere/x”").waitFor();
  for (const place of ["data/x", "new/x", "system/x", `jobs/${jobs[2]}/result/x`]) {
    await show(page, `#/${place}`);
    await page.getByText(`page “${place.replace(/^jobs\/[^/]+\//, "")}”`).waitFor();
  }
});

await report.test("the log and the document of a job can be downloaded", async () => {
  await show(page, `#/jobs/${jobs[2]}/files`);
  for (const [button, sign] of [["Log", /state .*"succeeded"/], ["Job with its configuration", new RegExp(jobs[2])], ["Report", /^<!doctype html>[^]*Commands that repeat it/]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button, exact: button === "Log" }).click()]);
    const content = readFileSync(await download.path(), "utf8");
    if (!sign.test(content)) throw new Error(`${download.suggestedFilename()}: ${content.slice(0, 400)}`);
  }
});

await report.test("a report is readable, runs no script, fits into 360 pixels and can be printed", async () => {
  const view = await browser.page(daemon.url, { axe: true });
  const answer = await view.goto(`${daemon.url}/v1/jobs/${jobs[2]}/report`);
  if (answer.status() !== 200) throw new Error(`status ${answer.status()}`);
  await view.getByRole("heading", { name: "Commands that repeat it" }).waitFor();
  const broken = await view.evaluate(() => [...document.images].filter((image) => !image.complete || !image.naturalWidth).map((image) => image.alt));
  if (broken.length || !(await view.locator("figure img").count())) throw new Error(`pictures: ${broken}`);
  const found = await browser.violations(view);
  if (found.length) throw new Error(found.join("\n"));
  if ((await view.pdf()).length < 20_000) throw new Error("the printed report is empty");
  await view.setViewportSize({ width: 360, height: 700 });
  const wide = await view.evaluate(() => document.documentElement.scrollWidth);
  if (wide > 360) throw new Error(`the report is ${wide} pixels wide`);
  await view.context().close();
});

await report.test("a setting that has no effect is named above the progress", async () => {
  const job = await daemon.call("POST", "/v1/jobs", tiny({ total_samples: 40, kl_rate: 0.01 }));
  await show(page, `#/jobs/${job.id}`);
  await page.getByRole("list", { name: "Settings without effect" }).getByText("kl_rate").waitFor();
  await daemon.state(job.id, "succeeded");
});

await report.test("each view loads its own script, and the first view is small", async () => {
  const view = await browser.page(daemon.url), fetched = new Map();
  view.on("response", (response) => { if (response.url().includes("/assets/") || response.url() === `${daemon.url}/`) fetched.set(response.url().split("/").pop(), response); });
  await view.goto(`${daemon.url}/`);
  await view.locator("table.jobs").waitFor();
  await sleep(300);
  const sizes = await Promise.all([...fetched.values()].map(async (response) => Number(response.headers()["content-length"] ?? (await response.body()).length)));
  const total = sizes.reduce((a, b) => a + b, 0);
  if (!(total > 5000 && total < 45000)) throw new Error(`the first view takes ${total} bytes`);
  none([...fetched.keys()].filter((name) => /^(motifs|submit|chart|curves|compare)-/.test(name)), "scripts of other views");
  none([...fetched].filter(([name, response]) => name && !/immutable/.test(response.headers()["cache-control"])).map(([name]) => name), "scripts that browsers may not cache");
  await show(view, `#/jobs/${jobs[2]}/motifs`);
  await view.getByRole("list", { name: "Channels" }).waitFor();
  if (![...fetched.keys()].some((name) => /^motifs-/.test(name))) throw new Error("the motifs were shown without their script");
  await view.context().close();
});

const field = (option) => page.locator(`#o-${option}`);

/** Selects a file on the page Data, states the options, and uploads it. `file`: a path, or a file for Playwright. */
async function uploadByPage(file, options = {}) {
  await page.locator("input[type=file]").setInputFiles(file);
  for (const [option, value] of Object.entries(options)) {
    const list = (await field(option).evaluate((e) => e.tagName)) === "SELECT";
    await (list ? field(option).selectOption(value) : field(option).fill(value));
  }
  await page.getByRole("button", { name: "Upload", exact: true }).click();
}

await report.test("an invalid data set is refused with its row; a valid one is uploaded, previewed and deleted", async () => {
  const put = (text) => uploadByPage({ name: "mine.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  const rows = Array.from({ length: 40 }, (_, i) => `${i % 7},${i % 5},${i % 2 ? "a" : "b"}\n`).join("");
  await show(page, "#/data");
  await page.getByText("No data sets yet").waitFor();
  await put(`one,two,label\n1,2,a\n1,oops,a\n`);
  await page.getByText("'oops' is not a number").waitFor();
  browser.complaints = browser.complaints.filter((line) => !line.includes("422")); // the browser logs the refusal as an error
  await put(`one,two,label\n${rows}`);
  await page.getByRole("heading", { name: "mine" }).waitFor();
  await page.waitForFunction(() => document.querySelector("img.preview")?.naturalWidth > 0);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete permanently" }).click();
  await page.getByText("No data sets yet").waitFor();
  await put(`one,two,label\n${rows}`); // the screenshots below show this data set
  await page.getByRole("heading", { name: "mine" }).waitFor();
});

const fixture = (path) => readFileSync(new URL(`../fixtures/${path}`, import.meta.url));

/** A genome of the operator: a folder in the folder of data sets. */
function makeGenome(name) {
  const folder = join(daemon.dir, "data", name), line = 60, bases = Array.from({ length: 3000 }, (_, i) => "ACGT"[(i * 7 + i * i * 3 + (i >> 5)) % 4]).join("");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "genome.fa"), `>chr1\n${bases.match(new RegExp(`.{${line}}`, "g")).join("\n")}\n`);
  writeFileSync(join(folder, "genome.fa.fai"), `chr1\t${bases.length}\t6\t${line}\t${line + 1}\n`);
}

const rows12 = Array.from({ length: 12 }, (_, i) => [i, (i * 2) % 5, i % 2 ? "one" : "two"]);
const cells = rows12.flatMap(([a, b]) => [a, b, a - b]);
const plain = (between, head, row) => Buffer.from([head, ...rows12.map(row)].map((line) => line.join(between) + "\n").join(""));

/** Files of each format: [ending, bytes, options, what the document of the data set must contain]. */
async function formatFiles() {
  const labels = (ending) => ["labels.csv", Buffer.from(`file,label\n${rows12.map(([i, , name]) => `${i}.${ending},${name}\n`).join("")}`)];
  const png = Buffer.from(await page.evaluate(() => { const canvas = Object.assign(document.createElement("canvas"), { width: 8, height: 8 }); canvas.getContext("2d").fillRect(1, 1, 3, 5); return canvas.toDataURL("image/png").split(",")[1]; }), "base64");
  const npy = numbers([12, 3], cells), deep = numbers([6, 2, 3, 1], cells);
  const fasta = Buffer.from(rows12.map(([i, , name]) => `>r${i} ${name} extra${i % 3}\n${"ACGTTGCA".repeat(4)}\n`).join(""));
  const region = (i, more) => `chr1\t${100 + 150 * i}\t${200 + 150 * i}\tsite${i % 2}\t0\t+${more}\n`;
  const bed = Buffer.from(rows12.map(([i]) => region(i, "")).join("")), peaks = Buffer.from(rows12.map(([i]) => region(i, "\t5\t-1\t-1\t40")).join("")), broad = Buffer.from(rows12.map(([i]) => region(i, "\t5\t-1\t-1")).join(""));
  const matrix = Buffer.from(`%%MatrixMarket matrix coordinate integer general\n3 12 12\n${rows12.map(([i, b]) => `${1 + (i % 3)} ${i + 1} ${b + 1}\n`).join("")}`);
  const mtx = [["matrix.mtx", matrix], ["features.tsv", Buffer.from("g0\tA\ng1\tB\ng2\tC\n")], ["barcodes.tsv", Buffer.from(rows12.map(([i]) => `c${i}\n`).join(""))]];
  const table = (between) => plain(between, ["a", "b", "kind", "lane"], ([i, b, name]) => [i, b, name, `lane${i % 3}`]);
  const names = (set) => set.vocabulary.map((n) => n.name).join();
  return [
    ["csv", table(","), { label: "kind", group: "lane" }, (d) => names(d) === "one,two" && d.groups.length === 3],
    ["jsonl", Buffer.from(rows12.map(([i, , name]) => `${JSON.stringify({ text: `word${i} here`, kind: name })}\n`).join("")), { label: "kind" }, (d) => names(d) === "one,two" && d.samples === 12],
    ["ndjson", Buffer.from(rows12.map(([i, , name]) => `${JSON.stringify({ tokens: [`Event ${i}`, "end"], kind: [name] })}\n`).join("")), { label: "kind", target: "labels" }, (d) => d.target === "labels" && names(d) === "one,two"],
    ["csv.gz", gzipSync(plain(",", ["a", "b", "label"], (row) => row)), { layout: "signals" }, (d) => d.kind === "sequences" && d.shape.cols === 2],
    ["tsv", table("\t"), { label: "lane", group: "kind" }, (d) => d.vocabulary.length === 3 && d.groups.length === 2],
    ["npy", npy, { layout: "signals" }, (d) => d.kind === "sequences"],
    ["npz", zip("x.npy", deep), { layout: "channels-first" }, (d) => d.shape.channels === 2 && d.shape.rows === 3],
    ["safetensors", tensors("x", [12, 3], cells), { layout: "signals" }, (d) => d.kind === "sequences"],
    ["fa", fasta, { negatives: "shuffle" }, (d) => d.samples === 24],
    ["fna", fasta, { target: "labels" }, (d) => d.target === "labels"],
    ["fasta", fasta, { target: "labels" }, (d) => d.target === "labels"],
    ["fa.gz", gzipSync(fasta), { label_column: "3" }, (d) => names(d) === "extra0,extra1,extra2"],
    ["bed", bed, { genome: "tiny", window: "100", label: "name", negatives: "gc" }, (d) => d.samples > 12 && names(d) === "site0,site1"],
    ["bed.gz", gzipSync(bed), { genome: "tiny", window: "0", label_column: "4" }, (d) => d.shape.cols === 100 && names(d) === "site0,site1"],
    ["narrowPeak", peaks, { genome: "tiny", label: "CTCF" }, (d) => d.shape.cols === 200 && names(d) === "CTCF"],
    ["broadPeak", broad, { genome: "tiny", target: "labels" }, (d) => d.target === "labels"],
    ["h5ad", fixture("tables/dense.h5ad"), { label: "type", group: "donor", layer: "doubled" }, (d) => d.vocabulary.length === 3 && d.groups.length === 2],
    ["h5", fixture("tables/v3.h5"), {}, (d) => d.kind === "table" && d.samples === 23],
    ["meme", Buffer.from("MEME version 4\nMOTIF a\nletter-probability matrix: w= 1\n1 0 0 0\n"), {}, (d) => d.kind === "motifs"],
    ["jaspar", Buffer.from(">a\n1 2\n3 4\n5 6\n7 8\n"), {}, (d) => d.kind === "motifs"],
    ["pfm", Buffer.from(">a\n1 2\n3 4\n5 6\n7 8\n"), {}, (d) => d.kind === "motifs" && d.shape.cols === 2],
    ["pcm", Buffer.from(">a\n1 2 3 4\n4 3 2 1\n1 2 3 4\n4 3 2 1\n0 0 0 10\n"), {}, (d) => d.kind === "motifs" && d.shape.cols === 5 && d.warnings[0].code === "motifs-transposed"],
    ["recordings.tar", archive([...rows12.map(([i]) => [`${i}.wav`, sound(i)]), labels("wav")]), { target: "labels" }, (d) => d.kind === "recordings" && d.target === "labels"],
    ["pictures.tar", archive([...rows12.map(([i]) => [`${i}.png`, png]), labels("png")]), { target: "class" }, (d) => d.kind === "images" && d.target === "class"],
    ["pictures.tgz", gzipSync(archive([...rows12.map(([i]) => [`${i}.png`, png]), labels("png")])), { target: "labels" }, (d) => d.kind === "images" && d.target === "labels"],
    ["arrays.zip", zip("1.npy", npy), { layout: "signals" }, (d) => d.kind === "sequences" && d.samples === 12],
    ["arrays.tar", archive([["1.npy", npy], ["2.npy", npy]]), { layout: "signals" }, (d) => d.kind === "sequences" && d.samples === 24],
    ["cells.tar", archive([...mtx, ["labels.csv", Buffer.from(`file,label\n${rows12.map(([i, , name]) => `c${i},${name}\n`).join("")}`)]]), { target: "class" }, (d) => d.kind === "table" && names(d) === "one,two"],
    ["regions.tar", archive([["A.bed", bed], ["B.narrowPeak", peaks]]), { genome: "tiny", target: "labels", window: "50" }, (d) => d.shape.cols === 50 && names(d) === "A,B"],
  ];
}

/** Uploads a file of each accepted ending from the disk; the browser sends no Content-Type for most of them. The form offers the options that the daemon lists for the format, and no others. */
async function everyFormat() {
  const folder = mkdtempSync(join(tmpdir(), "motif-formats-"));
  makeGenome("tiny");
  await show(page, "#/system");
  await show(page, "#/data");
  const { endings, formats } = await daemon.call("GET", "/v1/datasets"), tried = new Set(), used = new Set();
  for (const [ending, bytes, options, fits] of await formatFiles()) {
    const [last, what] = ending.replace(/\.gz$/, "").split(".").reverse();
    const path = join(folder, `Web Set (Zürich) ${what ?? "x"}.${ending.split(".").slice(what ? 1 : 0).join(".")}`), expected = `web-set-zurich-${what ?? "x"}`;
    const format = endings.find((e) => e.ending === last).format;
    writeFileSync(path, bytes);
    await page.locator("input[type=file]").setInputFiles(path);
    await page.getByLabel(/^Format/).waitFor();
    if ((await page.getByLabel(/^Format/).inputValue()) !== format) throw new Error(`${ending}: the form has another format`);
    const offered = (await page.locator(".upload .field label").allInnerTexts()).join(), listed = formats.find((f) => f.name === format).options.map((o) => o.name).join();
    if (offered !== listed) throw new Error(`${ending}: the form offers ${offered}; the daemon lists ${listed}`);
    await uploadByPage(path, options);
    await page.getByRole("heading", { name: expected, exact: true }).or(page.locator(".fault, .upload .wrong")).first().waitFor();
    none(await page.locator(".fault, .upload .wrong").allInnerTexts(), `${ending}: faults`);
    const made = await daemon.call("GET", `/v1/datasets/${expected}`);
    if (made.format !== format || !fits(made)) throw new Error(`${ending}: ${JSON.stringify({ ...made, first: undefined }).slice(0, 700)}`);
    tried.add(last);
    Object.keys(options).forEach((o) => used.add(`${format} ${o}`));
    await daemon.call("DELETE", `/v1/datasets/${expected}`);
    await page.reload();
    await page.locator("input[type=file]:enabled").waitFor();
  }
  none(endings.map((e) => e.ending).filter((ending) => !tried.has(ending)), "endings that this test does not try");
  none(formats.filter((f) => f.options.length > 0 && f.name !== "10x-h5" && !f.options.some((o) => used.has(`${f.name} ${o.name}`))).map((f) => f.name), "formats of which this test tries no option");
  await page.getByText("A hyphen replaces every other character").waitFor();
  rmSync(folder, { recursive: true });
}

await report.test("a file of every accepted ending is uploaded, under a name that follows from the file's name", everyFormat);

await report.test("an upload shows what the daemon recognises before it is stored, and follows the options", async () => {
  const rows = Array.from({ length: 24 }, (_, i) => `${i % 7},${i % 5},${i % 2 ? "a" : "b"},p${i % 3}\n`).join("");
  await show(page, "#/data");
  await page.locator("input[type=file]").setInputFiles({ name: "roles.csv", mimeType: "text/csv", buffer: Buffer.from(`one,two,kind,patient\n${rows}`) });
  const box = page.locator(".recognised");
  await until("numbers are missing in the columns", async () => (await page.getByText("is not a number").count()) === 1 || (await box.count()) === 1); // each fault once
  await field("label").fill("kind");
  await field("group").fill("patient");
  await box.getByText("24", { exact: true }).waitFor();
  for (const text of ["2 names", "3 groups"]) await box.getByText(text).first().waitFor();
  if ((await daemon.call("GET", "/v1/datasets")).datasets.some((d) => d.name === "roles")) throw new Error("the check has stored the data set");
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByRole("heading", { name: "roles", exact: true }).waitFor();
  const made = await daemon.call("GET", "/v1/datasets/roles");
  if (made.vocabulary.length !== 2 || made.groups.length !== 3) throw new Error(JSON.stringify(made).slice(0, 400));
  await daemon.call("DELETE", "/v1/datasets/roles");
});

await report.test("a fault of an option stands at its field, a file of another ending needs a format, and the name can be changed", async () => {
  const bed = { name: "Peaks.bed", mimeType: "", buffer: Buffer.from("chr1\t100\t200\n") };
  await show(page, "#/data");
  await uploadByPage(bed, { genome: "tiny", window: "2000000" });
  await page.locator("#o-window-e").getByText("1000000").waitFor();
  await page.locator("#o-window").fill("20");
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByRole("heading", { name: "peaks", exact: true }).waitFor();
  await daemon.call("DELETE", "/v1/datasets/peaks");
  await page.locator("input[type=file]").setInputFiles({ name: "table.txt", mimeType: "text/plain", buffer: Buffer.from("a,b\n1,2\n3,4\n") });
  await page.getByText("knows no format for the ending .txt").waitFor();
  if (!(await page.getByRole("button", { name: "Upload", exact: true }).isDisabled())) throw new Error("a file without a format can be uploaded");
  await page.getByLabel(/^Format/).selectOption("csv");
  await page.locator("input[type=file]").setInputFiles({ name: `${"long".repeat(20)}.csv`, mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n3,4\n") });
  if ((await page.getByLabel("Name of the data set").inputValue()) !== "long".repeat(20).slice(0, 63)) throw new Error("the name of a long file is not cut to what the daemon accepts");
  await page.locator("input[type=file]").setInputFiles({ name: "table.txt", mimeType: "text/plain", buffer: Buffer.from("a,b\n1,2\n3,4\n") });
  await page.getByLabel(/^Format/).selectOption("csv");
  await page.getByLabel("Name of the data set").fill("renamed");
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByRole("heading", { name: "renamed", exact: true }).waitFor();
  await daemon.call("DELETE", "/v1/datasets/renamed");
  browser.complaints = browser.complaints.filter((line) => !/4(00|22)/.test(line)); // the browser logs the refusals as errors
});

await report.test("a sequence of bases is drawn as letters with a logo of each channel; a signal as lines; a recording as a spectrogram with axes", signals);

await report.test("Train on this leads to a short form with the data set, an estimate and folded settings", async () => {
  const view = await browser.page(daemon.url, { context: { viewport: { width: 360, height: 740 } } });
  await show(view, "#/data");
  await view.getByRole("link", { name: /^Train on this\s+bases$/ }).click();
  await view.getByLabel("Data set").waitFor();
  if ((await view.getByLabel("Data set").inputValue()) !== "bases" || (await view.getByLabel("Kind").inputValue()) !== "sparling") throw new Error("the form does not name the data set");
  await view.getByText("Predicted time").waitFor();
  const [open, high] = await view.evaluate(() => [document.querySelectorAll(".field:not(details:not([open]) *)").length, document.documentElement.scrollHeight]);
  if (open > 1 || high > 2200) throw new Error(`${open} settings stand open, ${high} pixels high`);
  await view.getByLabel("Name", { exact: true }).fill("trained on bases");
  await view.getByRole("button", { name: "Submit" }).click();
  await view.waitForURL(/#\/jobs\/[0-9A-Z]{26}$/);
  const id = view.url().split("/").pop(), job = await daemon.call("GET", `/v1/jobs/${id}`);
  if (job.config.dataset_name !== "bases" || job.preset !== "dataset" || job.name !== "trained on bases") throw new Error(JSON.stringify(job).slice(0, 300));
  await daemon.call("POST", `/v1/jobs/${id}/cancel`);
  await daemon.state(id, "cancelled", "succeeded");
  await view.context().close();
});

async function others() {
  const small = {
    rug: { kind: "superposition", preset: "rug", config: { n_s: 32, n_d: 8, test_samples: 200 } },
    factors: { kind: "factors", preset: "synthetic", config: { epochs: 4, restarts: 1, screen_epochs: 2 } },
    tree: { kind: "environments", config: { learning_rate: 0.02, updates: 60 } },
    latents: { kind: "dictionary", preset: "planted-quick", config: { features: 64, width: 32, l0: 4, total_samples: 8192, test_samples: 500, pursuit_samples: 20 } },
    pathways: { kind: "pathways", preset: "two-layer", config: { dictionaries: 1, trials: 8, draws: 2, points: 3, sizes: 1 } },
  };
  for (const [name, body] of Object.entries(small)) jobs[name] = (await daemon.call("POST", "/v1/jobs", body)).id;
  for (const name of Object.keys(small)) {
    const job = await daemon.state(jobs[name], "succeeded", "failed");
    if (job.state === "failed") throw new Error(`${name}: ${JSON.stringify(job.error)}`);
  }
}

await report.test("small jobs of the other kinds succeed", others);

await report.test("the comparison says why it cannot match two jobs, and a damaged address has an error", async () => {
  await show(page, `#/compare?jobs=${jobs[2]},${jobs.rug}`);
  await page.getByText("different kinds (sparling, superposition)").waitFor();
  await page.goto(`${daemon.url}/?#/jobs/%`); // an address that is cut off
  await page.locator(".fault").waitFor();
  browser.complaints = browser.complaints.filter((line) => !/40[04]/.test(line)); // the browser logs the refusal as an error
});

await report.test("in the picture of the weights, red is positive and blue negative, a larger weight is darker, and the scale is symmetric", () => weightsHaveTheirColours(page, daemon, jobs.rug));

await report.test("the picture of a small rug shows each of the few off-diagonal values as a point", () => fewValuesArePoints(page, daemon, jobs.rug));

const places = () => ({
  jobs: ["#/", "Jobs"], new: ["#/new", "Estimate"], system: ["#/system", "Machine"], data: ["#/data", "mine"], upload: ["#/data", "Name of the data set"], compare: [`#/compare?jobs=${jobs[2]},${jobs[7]}`, "Matched with"],
  training: [`#/jobs/${jobs[2]}/training`, "Motif errors"], answer: [`#/jobs/${jobs[2]}`, "test inputs, "], keep: [`#/jobs/${jobs[2]}?keep=0.1&order=error`, /at most \d+ are false|There is no bound/], gallery: [`#/jobs/${jobs[2]}/motifs`, "of 100 inputs"], logos: [`#/jobs/${jobs.bases}/motifs`, "of 100 inputs"], latents: [`#/jobs/${jobs.latents}/latents`, "latents, measured on"],
  motifs: [`#/jobs/${jobs[2]}/motifs?channel=1`, "Activations"], inputs: [`#/jobs/${jobs[2]}/motifs?seed=3`, "all active positions"], letters: [`#/jobs/${jobs.bases}/motifs?seed=3`, "all active positions"],
  fromData: ["#/new?dataset=bases", "Predicted time"], result: [`#/jobs/${jobs[2]}/result`, "Confusion matrix"],
  study: [`#/studies/${jobs.study}`, "width=24"], config: [`#/jobs/${jobs[2]}/configuration`, "Seed of the training samples"], files: [`#/jobs/${jobs[2]}/files`, "Checkpoints"], rug: [`#/jobs/${jobs.rug}/rug`, "Bayes bound"],
  factors: [`#/jobs/${jobs.factors}/factors`, "factor 0"], tree: [`#/jobs/${jobs.tree}/tree`, "latent 0"], layers: [`#/jobs/${jobs.pathways}/layers`, "stripe sparsity"],
});

for (const theme of ["light", "dark"]) {
  await report.test(`axe finds no violation on any page in the ${theme} theme${theme === "light" ? ", and every page fits into 360 pixels" : ""}`, async () => {
    const found = [], view = await browser.page(daemon.url, { axe: true, context: { colorScheme: theme } });
    for (const [name, [hash, sign]] of Object.entries(places())) {
      await view.setViewportSize({ width: 1280, height: 900 });
      await show(view, hash);
      if (name === "upload") await view.locator("input[type=file]").setInputFiles({ name: "Peaks.bed", mimeType: "", buffer: Buffer.from("chr1\t100\t200\n") });
      await view.getByText(sign).first().waitFor().catch(() => found.push(`${name}: '${sign}' is not on the page`));
      await sleep(150); // for the parts of the page that appear after this text
      found.push(...(await browser.violations(view)).map((line) => `${name}: ${line}`));
      if (shots) {
        await view.evaluate(async () => { scrollTo(0, document.body.scrollHeight); await new Promise((done) => setTimeout(done, 300)); scrollTo(0, 0); }); // charts are drawn when they become visible
        await view.screenshot({ path: join(shots, `${name}-${theme}.png`), fullPage: true });
      }
      if (theme === "dark" && !shots) continue;
      await view.setViewportSize({ width: 360, height: 740 });
      await sleep(120);
      const excess = await view.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (excess > 0) found.push(`${name}: ${excess} px wider than a window of 360`);
      if (shots) await view.screenshot({ path: join(shots, `${name}-${theme}-narrow.png`), fullPage: true });
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
  browser.complaints = browser.complaints.filter((line) => !line.includes("401")); // the browser logs the refusals as errors
});

await report.test("no page has written to the console or sent a request to another server", async () => none(browser.complaints, "complaints"));

await browser.close();
await daemon.close();
report.end();
