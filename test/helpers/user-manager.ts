import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A `systemctl`, a `loginctl` and a `launchctl` for a machine on which no service manager runs. They are real
 * executables: they write down how they were called, and do what the managers do with a service. They read the unit as
 * systemd.syntax(7), systemd.service(5) and systemd.unit(5) say, and start, restart and end its process. `failing`: the
 * words of a call that fails.
 */
export class UserManager implements Disposable {
  readonly bin: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = join(folder, "manager");
    this.bin = join(this.#folder, "bin");
    mkdirSync(this.bin, { recursive: true });
    writeFileSync(join(this.#folder, "manager.cjs"), PROGRAM);
    for (const name of ["systemctl", "loginctl", "launchctl"]) {
      const words = [process.execPath, join(this.#folder, "manager.cjs"), name, this.#folder];
      writeFileSync(join(this.bin, name), `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")} "$@"\n`);
      chmodSync(join(this.bin, name), 0o755);
    }
    this.set("state", "running");
    this.set("linger", "no");
  }

  /** Sets a fact: `state` (of the manager), `linger`, or `failing`. */
  set(name: "state" | "linger" | "failing", value: string): void {
    writeFileSync(join(this.#folder, name), value);
  }

  /** The calls so far, each as a line. */
  get calls(): string[] {
    const file = join(this.#folder, "calls");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  }

  /** What the services have printed. */
  get output(): string {
    const file = join(this.#folder, "output");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** The ids of the processes of services that were started, the last one last. */
  get started(): number[] {
    const file = join(this.#folder, "started");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").map(Number) : [];
  }

  /** Ends the processes of all services. */
  [Symbol.dispose](): void {
    writeFileSync(join(this.#folder, "gone"), "");
    for (const pid of this.started) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const PROGRAM = String.raw`
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const [tool, folder, ...args] = process.argv.slice(2);
const at = (name) => path.join(folder, name);
const text = (name) => (fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8") : "");
const fail = (message, code = 1) => { process.stderr.write(message + "\n"); process.exit(code); };
const units = path.join(process.env.XDG_CONFIG_HOME || path.join(process.env.HOME, ".config"), "systemd", "user");

/** The words of a value: quotes, C escapes, specifiers. */
function words(value) {
  const found = [];
  for (let i = 0; i < value.length; ) {
    if (value[i] === " ") { i += 1; continue; }
    let word = "";
    if (value[i] !== '"') throw new Error("not quoted: " + value);
    for (i += 1; value[i] !== '"'; i += 1) {
      if (i >= value.length) throw new Error("no end of a quote");
      if (value[i] === "\\") {
        i += 1;
        const c = value[i];
        if (c === "x") { word += String.fromCharCode(parseInt(value.slice(i + 1, i + 3), 16)); i += 2; }
        else word += { n: "\n", t: "\t", r: "\r", "\\": "\\", '"': '"' }[c] ?? fail("unknown escape " + c);
      } else if (value[i] === "%") {
        i += 1;
        if (value[i] !== "%") fail("unknown specifier");
        word += "%";
      } else word += value[i];
    }
    i += 1;
    found.push(word);
  }
  return found;
}

function read(unit) {
  const file = path.join(units, unit);
  if (!fs.existsSync(file)) fail("Failed to enable unit: Unit file " + unit + " does not exist.");
  const lines = fs.readFileSync(file, "utf8").split("\n");
  const values = (key) => lines.filter((line) => line.startsWith(key + "=")).map((line) => line.slice(key.length + 1));
  const [program, ...rest] = words(values("ExecStart")[0]);
  // $NAME is replaced by a variable that is not set; $$ stands for a dollar.
  const command = rest.map((word) => word.replace(/\$(\$|\w+)/g, (_, name) => (name === "$" ? "$" : "")));
  const env = Object.fromEntries(values("Environment").flatMap(words).map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]));
  return { program, command, env };
}

/** Starts a service, and starts it again after a failure. Runs until the service has ended. */
function supervise(unit) {
  const { program, command, env } = read(unit);
  const out = fs.openSync(at("output"), "a");
  const child = spawn(program, command, { env: { PATH: "/usr/bin:/bin", HOME: process.env.HOME, ...env }, cwd: "/", stdio: ["ignore", out, out] });
  child.on("error", () => fs.writeFileSync(at(unit + ".state"), "failed"));
  if (child.pid === undefined) return;
  fs.appendFileSync(at("started"), child.pid + "\n");
  fs.writeFileSync(at(unit + ".pid"), String(child.pid));
  fs.writeFileSync(at(unit + ".state"), "active");
  child.on("exit", (code, signal) => {
    const isClean = code === 0 || ["SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"].includes(signal);
    if (!fs.existsSync(at(unit + ".state")) || fs.existsSync(at("gone"))) return;
    fs.writeFileSync(at(unit + ".state"), isClean ? "inactive" : "activating");
    if (!isClean) setTimeout(() => supervise(unit), 1_000);
  });
}

function stop(unit) {
  const pid = Number(text(unit + ".pid"));
  fs.rmSync(at(unit + ".state"), { force: true });
  if (pid === 0) return;
  try { process.kill(pid, "SIGTERM"); } catch { return; }
  for (let i = 0; i < 1000; i += 1) {
    try { process.kill(pid, 0); } catch { return; }
    if (/^\d+ \(.*\) Z/.test(fs.readFileSync("/proc/" + pid + "/stat", "utf8"))) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
}

function start(unit) {
  const child = spawn(process.execPath, [__filename, "supervise", folder, unit], { detached: true, stdio: "ignore" });
  child.unref();
  for (let i = 0; i < 500 && text(unit + ".state") === ""; i += 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
}

if (tool === "supervise") supervise(args[0]);
else {
  fs.appendFileSync(at("calls"), [tool, ...args].join(" ") + "\n");
  const failing = text("failing");
  if (failing !== "" && args.join(" ").includes(failing)) fail("Failed: " + failing + " was refused.");
  const rest = args.filter((word) => !word.startsWith("-"));
  const [verb, unit] = rest;
  const wants = path.join(units, "default.target.wants");
  if (tool === "loginctl") process.stdout.write("Linger=" + text("linger") + "\n");
  else if (tool === "launchctl") {
    const [, domain, file] = rest;
    if (verb === "print" && !domain.includes("/", 4)) { if (text("state") !== "running") fail("Could not find domain for port", 113); }
    else if (verb === "print") { const state = text(path.basename(domain) + ".state"); if (state === "") fail("Could not find service", 113); process.stdout.write("\tstate = running\n"); }
    else if (verb === "bootstrap") { fs.writeFileSync(at(path.basename(file, ".plist") + ".state"), "active"); }
    else if (verb === "bootout") { if (!fs.existsSync(at(path.basename(domain) + ".state"))) fail("Boot-out failed: 3: No such process", 3); fs.rmSync(at(path.basename(domain) + ".state")); }
  }
  else if (verb === "is-system-running") {
    const state = text("state");
    if (state !== "running") fail(state);
    process.stdout.write("running\n");
  } else if (verb === "enable") { read(unit); fs.mkdirSync(wants, { recursive: true }); const link = path.join(wants, unit); fs.rmSync(link, { force: true }); fs.symlinkSync(path.join(units, unit), link); }
  else if (verb === "restart") { stop(unit); start(unit); }
  else if (verb === "disable") {
    if (args.includes("--now")) stop(unit);
    fs.rmSync(path.join(wants, unit), { force: true });
    if (fs.existsSync(wants) && fs.readdirSync(wants).length === 0) fs.rmdirSync(wants);
  } else if (verb === "is-active") { const state = text(unit + ".state") || "inactive"; process.stdout.write(state + "\n"); if (state !== "active") process.exit(3); }
}
`;
