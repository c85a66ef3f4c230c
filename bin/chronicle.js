#!/usr/bin/env node
// The launcher. It is written for old Nodes too, so that they get an explanation instead of a syntax error.
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

/** Runs the same command under another Node and ends as it ends. */
function handOver(node) {
  const env = Object.assign({}, process.env, { [REEXEC_MARK]: "1" });
  // A terminal sends its signals to the whole group: the child has them already.
  const fromTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : [];
  const running = { child: null };
  // Before the child starts: a signal in between would end this process alone.
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

/** The store that the command line will use; a guess is good enough for a cache. */
function storeFolder() {
  const at = process.argv.indexOf("--store");
  const end = process.argv.indexOf("--");
  if (at > 0 && (end < 0 || at < end) && process.argv[at + 1]) return process.argv[at + 1];
  if (process.env.CHRONICLE_HOME) return process.env.CHRONICLE_HOME;
  return join(process.env.XDG_STATE_HOME || join(home(), ".local", "state"), "chronicle");
}

/** Empty where nobody knows it: a container's user often stands in no list of users. */
function home() {
  try {
    return homedir();
  } catch {
    return "";
  }
}

/**
 * Collects garbage early, in worker threads too: by default V8 lets tens of megabytes pile up before it looks, which
 * would be most of the memory of a large capture. The objects of a capture die young, so it costs no time to speak of.
 */
function staySmall() {
  v8.setFlagsFromString("--max-semi-space-size=2");
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  v8.setFlagsFromString("--heap-growing-percent=30");
}

/**
 * A server that somebody started, and a sync that runs in the foreground, live long and do much: a small heap would take a
 * tenth of a server's time, and a fifth of the processor's when a replica is filled (for 160 MB less at its peak).
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
 * Keeps compiled code in the store's cache folder (a tenth of the start). Not before there is a store, and not for a relative
 * path: the folder that one stands in may be anybody's, and so would be the code. Not in another user's store either, for the same
 * reason: root's code would lie in a folder of that user's, and its files in their way.
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
