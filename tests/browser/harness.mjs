// Starts a daemon and a browser for the tests. Collects everything that a page does wrong: errors and warnings on the console, and requests
// to other servers. `violations` lists the accessibility faults that axe finds.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

// A signal must end the script through process.exit, so that the exit handler below ends the daemon.
for (const [signal, number] of [["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]]) process.once(signal, () => process.exit(128 + number));

/** Upper limit in milliseconds of every wait for an event. A busy machine runs the daemon and the browser late. */
export const PATIENCE = 120000;

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits until `holds` returns true. */
export async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; !(await holds()); await sleep(100)) if (Date.now() > end) throw new Error(`in vain: ${what}`);
}

export class Daemon {
  constructor(program, flags = []) {
    this.program = program;
    this.flags = flags;
    this.dir = mkdtempSync(join(tmpdir(), "motif-browser-"));
    this.port = 0;
    this.remove = () => { this.process?.kill("SIGKILL"); rmSync(this.dir, { recursive: true, force: true }); };
    process.once("exit", this.remove);
  }

  /** Starts the daemon; a second start uses the same port and database. */
  async start() {
    const args = ["serve", "--listen", `127.0.0.1:${this.port}`, "--db", join(this.dir, "motifd.db"), "--data", join(this.dir, "data"),
      "--workers", "1", "--threads-per-job", "1", "--log-level", "warn", ...this.flags];
    this.process = spawn(this.program, args, { stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise((done, fail) => {
      let text = "";
      this.process.stdout.on("data", (data) => { text += data; if (text.includes("\n")) done(text.split("\n")[0]); });
      this.process.on("exit", (code) => fail(new Error(`motifd ended with ${code}`)));
    });
    this.port = Number(line.split(":").pop());
    this.url = `http://127.0.0.1:${this.port}`;
  }

  async end(signal = "SIGTERM") {
    if (!this.process || this.process.exitCode !== null) return;
    const over = new Promise((done) => this.process.once("exit", done));
    this.process.removeAllListeners("exit");
    this.process.once("exit", () => undefined);
    const gone = new Promise((done) => this.process.on("exit", done));
    this.process.kill(signal);
    await Promise.race([over, gone]);
  }

  async close() {
    await this.end();
    process.off("exit", this.remove);
    this.remove();
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, { method, headers: body ? { "Content-Type": "application/json" } : {}, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  }

  async state(id, ...states) {
    let job;
    await until(`job ${id} in state ${states.join(" or ")}`, async () => states.includes((job = await this.call("GET", `/v1/jobs/${id}`)).state));
    return job;
  }
}

export class Browser {
  constructor(modules) {
    const require = createRequire(resolve(modules, "package.json"));
    this.playwright = require("playwright-core");
    this.axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
    this.complaints = [];
    this.away = false; // true while a test has stopped the daemon, so that failed requests are expected
  }

  async start() {
    this.browser = await this.playwright.chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  }

  async page(url, options = {}) {
    // The content security policy of the dashboard forbids the script of axe. A page that axe examines therefore ignores the policy.
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: Boolean(options.axe), ...options.context });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.on("console", (message) => {
      const refused = message.text().includes("status of 422") && /[?&]dry_run=1$/.test(message.location().url); // forms check their fields and files with dry runs, which may be refused
      const expected = refused || (this.away && message.text().includes("net::ERR_"));
      if (["error", "warning"].includes(message.type()) && !expected) this.complaints.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (fault) => this.complaints.push(`exception: ${fault.stack}`));
    page.on("request", (request) => {
      const to = request.url();
      if (!to.startsWith(url) && !to.startsWith("blob:") && !to.startsWith("data:")) this.complaints.push(`external request: ${to}`);
    });
    return page;
  }

  async violations(page) {
    await page.evaluate(this.axe);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
  }

  async close() {
    await this.browser.close();
  }
}

/** Prints a TAP line for each test; the exit status is 0 if all tests passed. */
export class Report {
  constructor() {
    this.bad = 0;
    this.number = 0;
  }

  async test(name, run) {
    const begun = Date.now();
    this.number++;
    try {
      await run();
      console.log(`ok ${this.number} - ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (fault) {
      this.bad++;
      console.log(`not ok ${this.number} - ${name}\n  ${String(fault.stack ?? fault).split("\n").slice(0, 12).join("\n  ")}`);
    }
  }

  end() {
    console.log(`1..${this.number}`);
    process.exitCode = this.bad > 0 ? 1 : 0;
  }
}

export function none(list, what) {
  if (list.length > 0) throw new Error(`${what}:\n${list.join("\n")}`);
}

/** A network that trains in a few seconds. */
export const TINY = {
  image_size: 32, classes: 3, min_symbols: 1, max_symbols: 2, shift: 1, margin: 8, min_radius: 5, width: 16, motifs: 3, units: 1, channels: 16,
  layers: 1, heads: 2, feed_forward: 32, batch: 4, validation_every: 40, validation_samples: 8, checkpoint_every: 40, test_samples: 8,
  motif_samples: 8, stage_samples: 4, curriculum: 0, density_start: 0.01,
};

/** A training that does not end when the accuracy stops rising. It runs until a client pauses or cancels it. */
export const ENDLESS = { ...TINY, plateau_validations: 0, total_samples: 100000000 };
