// Signs in on the page in Chromium, at a certified provider on loopback (tests/wire/oidc).
//
//   node signin.mjs MOTIFD MODULES PROVIDER
//
// MODULES contains node_modules with playwright-core and axe-core, PROVIDER the packages that wire_oidc.py has fetched. Exit code 77: something is missing.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser, Daemon, none, Report } from "./harness.mjs";

const [program, modules, packages] = process.argv.slice(2);
if (![join(modules, "node_modules/playwright-core"), process.env.CHROMIUM ?? "/usr/bin/chromium", join(packages, "node_modules/oidc-provider")].every(existsSync)) {
  console.log("skipped: playwright-core, Chromium or oidc-provider is missing; deploy/test browser and wire_oidc fetch them");
  process.exit(77);
}
const script = join(dirname(fileURLToPath(import.meta.url)), "../wire/oidc/provider.mjs");
const provider = spawn(process.execPath, [script, packages, "http://127.0.0.1/v1/sign-in/callback"], { stdio: ["ignore", "pipe", "ignore"] });
process.once("exit", () => provider.kill("SIGKILL"));
const issuer = String(await new Promise((done) => provider.stdout.once("data", done))).trim();
const daemon = new Daemon(program, ["--oidc-issuer", issuer, "--oidc-client", "motif", "--oidc-team-claim", "groups", "--signin-teams", "proteins=proteins",
  "--oidc-role-claim", "groups", "--signin-roles", "chiefs=admin,*=member"]);
const browser = new Browser(modules), report = new Report();
await daemon.start();
await browser.start();

await report.test("a person signs in on the page, submits a job and signs out", async () => {
  const page = await browser.page(daemon.url, { axe: true });
  await page.route(/^https:/, (request) => request.abort()); // fonts of the provider's pages
  await page.goto(daemon.url);
  const link = page.getByRole("link", { name: "Sign in" });
  await link.waitFor();
  none(await browser.violations(page), "accessibility faults of the dialog");
  await link.click();
  await page.locator("input[name=login]").fill("zoe");
  await page.locator("input[name=password]").fill("any");
  await page.locator("[type=submit]").click();
  await page.locator("[type=submit]").click(); // consent
  await page.getByText("Submit a first job").waitFor();
  if (page.url() !== `${daemon.url}/`) throw new Error(page.url());
  browser.complaints = []; // those of the provider's pages
  const status = await page.evaluate(() => fetch("/v1/jobs", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then((a) => a.status));
  if (status !== 401) throw new Error(`a request without X-Motif: ${status}`);
  await page.goto(`${daemon.url}/#/new`);
  await page.getByLabel("Preset").selectOption("digitcircle-quick");
  await page.getByRole("button", { name: "Submit", exact: false }).first().click();
  await page.waitForURL(/#\/jobs\//);
  await page.goto(`${daemon.url}/#/system`);
  await page.getByText("oidc:zoe · proteins · admin").waitFor();
  const cookies = await page.evaluate(() => document.cookie);
  if (cookies !== "") throw new Error(`scripts can read ${cookies}`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await link.waitFor();
  await page.context().close();
  none(browser.complaints.filter((line) => !line.includes("401") && !line.includes(issuer)), "complaints");
});

await browser.close();
await daemon.close();
report.end();
