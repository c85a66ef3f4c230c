#!/usr/bin/env node
// The launcher of the whole program. It must also run in old versions of Node, so that their users get an explanation
// and not a syntax error.
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import * as nodeModule from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as v8 from "node:v8";

const NEEDED_MAJOR = 24;
const REEXEC_MARK = "CHRONICLE_REEXEC";
const handedOver = process.env[REEXEC_MARK] === "1";
delete process.env[REEXEC_MARK];
const packageRoot = dirname(dirname(fileURLToPath(import.meta.url)));

function refuse(message) {
  process.stderr.write("chronicle: " + message + "\n");
  process.exit(1);
}

/** Runs the same command with another Node. This process then ends with the same exit code or signal. */
function handOver(node) {
  const env = Object.assign({}, process.env, { [REEXEC_MARK]: "1" });
  // A terminal sends these signals to the whole process group, so the child gets them without our help.
  const fromTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : [];
  const running = { child: null };
  // The handlers are installed before the child starts, because an early signal would otherwise end only this process.
  ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"].forEach(function (signal) {
    process.on(signal, function () {
      if (fromTerminal.indexOf(signal) < 0 && running.child) running.child.kill(signal);
    });
  });
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit", env: env });
  running.child = child;
  child.on("error", function (error) {
    refuse("could not start " + node + ": " + error.message);
  });
  child.on("exit", function (code, signal) {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** Returns the store that the command line will use. A guess is good enough, because it is only used for a cache. */
function storeFolder() {
  const at = process.argv.indexOf("--store");
  const end = process.argv.indexOf("--");
  if (at > 0 && (end < 0 || at < end) && process.argv[at + 1]) return process.argv[at + 1];
  if (process.env.CHRONICLE_HOME) return process.env.CHRONICLE_HOME;
  return join(process.env.XDG_STATE_HOME || join(home(), ".local", "state"), "chronicle");
}

/** Returns the home folder; an empty string if it is unknown. A container's user often has no entry in /etc/passwd. */
function home() {
  try {
    return homedir();
  } catch {
    return "";
  }
}

/**
 * Makes V8 collect garbage early, in worker threads, too. By default, V8 lets tens of megabytes of garbage pile up,
 * which would be most of the memory of a large capture. The objects of a capture are short-lived, so collecting early
 * takes hardly any time.
 */
function staySmall() {
  v8.setFlagsFromString("--max-semi-space-size=2");
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  v8.setFlagsFromString("--heap-growing-percent=30");
}

/**
 * Returns true for a server that a user started, and for a sync in the foreground. They run for long and do much, so a
 * small heap would cost them too much: a tenth of a server's time, and a fifth of the processor time when a replica is
 * filled. (It would save 160 MB of peak memory there.)
 */
function livesLong() {
  const end = process.argv.indexOf("--");
  const says = (word) => {
    const at = process.argv.indexOf(word);
    return at > 0 && (end < 0 || at < end);
  };
  return (says("serve") && !says("--idle")) || says("replicate");
}

/**
 * Keeps compiled code in the cache folder of the store, which saves a tenth of the start time. Does not do so in these
 * cases:
 *
 * - The folder does not exist yet.
 * - The path of the store is relative. The current folder may belong to anybody, who could then change the code.
 * - The folder belongs to another user. That user could change the code that root runs, and root's files would be in
 *   that user's folder.
 */
function useCompileCache() {
  if (typeof nodeModule.enableCompileCache !== "function") return;
  const cache = join(storeFolder(), "cache");
  if (!isAbsolute(cache) || !existsSync(cache) || statSync(cache).uid !== process.getuid()) return;
  nodeModule.enableCompileCache(join(cache, "compile"));
}

function start() {
  if (process.platform === "win32") {
    refuse("Windows is not supported. Use WSL (Linux) with Node " + NEEDED_MAJOR + " or later.");
  }
  if (parseInt(process.versions.node, 10) < NEEDED_MAJOR) {
    const local = join(packageRoot, "node_modules", ".bin", "node");
    if (existsSync(local) && !handedOver) return handOver(local);
    refuse(
      "this is Node " +
        process.versions.node +
        ", and Chronicle needs Node " +
        NEEDED_MAJOR +
        " or later. " +
        "Install a newer Node, or run `npm ci` in a clone of Chronicle, which brings one along.",
    );
  }
  const main = join(packageRoot, "dist", "cli.js");
  if (!existsSync(main)) refuse(main + " is missing. Run `npm run build` in " + packageRoot + ".");
  useCompileCache();
  if (!livesLong()) staySmall();
  import(pathToFileURL(main).href).catch(function (error) {
    refuse("could not start: " + (error && error.stack ? error.stack : error));
  });
}

start();
