// Tests that a script ends the daemon that it started and removes its folder: when the script's output is closed, when a signal ends the script, and when
// the script fails.
//
//   node ends.mjs MOTIFD
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Daemon, none, PATIENCE, Report, sleep } from "./harness.mjs";

const [program, role] = process.argv.slice(2);
if (role) { // started again by the tests below, as the script under test
  const daemon = new Daemon(program);
  await daemon.start();
  console.log(`${daemon.process.pid} ${daemon.dir}`);
  for (let i = 0; ; i++) {
    await sleep(50);
    if (role === "fails" && i === 2) throw new Error("this failure is part of the test");
    if (role === "talks") console.log("again");
  }
}

const there = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };
const report = new Report();
const ends = {
  "a script whose output is closed leaves no daemon": ["talks", (script) => script.stdout.destroy()], "a script that gets SIGTERM leaves no daemon": ["waits", (script) => script.kill("SIGTERM")],
  "a script that gets SIGINT leaves no daemon": ["waits", (script) => script.kill("SIGINT")], "a script that fails leaves no daemon": ["fails", () => undefined],
};
for (const [name, [role, end]] of Object.entries(ends)) {
  await report.test(name, async () => {
    const script = spawn(process.execPath, [fileURLToPath(import.meta.url), program, role], { stdio: ["ignore", "pipe", "ignore"] });
    const [pid, dir] = await new Promise((done) => script.stdout.once("data", (data) => done(String(data).split("\n")[0].split(" "))));
    const over = new Promise((done) => script.once("exit", done));
    end(script);
    await over;
    for (let i = 0; i < PATIENCE / 50 && there(pid); i++) await sleep(50);
    none([there(pid) && `the daemon ${pid}`, existsSync(dir) && dir].filter(Boolean), "left behind");
  });
}
report.end();
