import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const repo = dirname(import.meta.dirname);

/** Flags that make this Node look like an older one to the launcher, or like one on Windows. */
const OLD_NODE = pretend("versions", '{ ...process.versions, node: "20.11.1" }');
const WINDOWS = pretend("platform", '"win32"');

function pretend(property: string, value: string): string[] {
  const code = `Object.defineProperty(process, "${property}", { value: ${value} });`;
  return ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
}

describe("the launcher", () => {
  let checkout = "";
  let launcher = "";

  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), "chronicle-launcher-"));
    cpSync(join(repo, "bin"), join(checkout, "bin"), { recursive: true });
    cpSync(join(repo, "package.json"), join(checkout, "package.json"));
    launcher = join(checkout, "bin/chronicle.js");
  });
  afterEach(() => rmSync(checkout, { recursive: true }));

  function launch(flags: readonly string[], ...args: string[]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, launcher, ...args], { encoding: "utf8" });
    return { status, stdout, stderr };
  }

  /** The Node that `npm ci` brings into a checkout: here, a shell script. */
  function bringNode(script: string): void {
    const folder = join(checkout, "node_modules/.bin");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "node"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "node"), 0o755);
  }

  it("tells an older Node what is needed and what to do", () => {
    const { status, stdout, stderr } = launch(OLD_NODE, "status");
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(
      /^chronicle: this is Node 20\.11\.1, and Chronicle needs Node 24 or later\. Install .*npm ci/,
    );
  });

  it("refuses Windows clearly", () => {
    const { status, stderr } = launch(WINDOWS, "status");
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^chronicle: Windows is not supported.*WSL/),
    });
  });

  it("says how to build where nothing was built", () => {
    const { status, stderr } = launch([], "status");
    expect(status).toBe(1);
    expect(stderr).toContain(`Run \`npm run build\` in ${checkout}`);
  });

  it("starts the command line with the arguments as they are", () => {
    mkdirSync(join(checkout, "dist"));
    writeFileSync(join(checkout, "dist/cli.js"), "process.stdout.write(JSON.stringify(process.argv.slice(2)));\n");
    expect(launch([], "run", "--", "a b", "").stdout).toBe('["run","--","a b",""]');
  });

  it("hands over to the Node of the checkout, and ends with its exit code", () => {
    bringNode('shift; echo "got: $*"; exit 42');
    expect(launch(OLD_NODE, "run", "--", "x")).toEqual({ status: 42, stdout: "got: run -- x\n", stderr: "" });
  });

  it("does not hand over twice", () => {
    bringNode(`exec "${process.execPath}" ${OLD_NODE.map((flag) => `'${flag}'`).join(" ")} "$@"`);
    const { status, stderr } = launch(OLD_NODE, "status");
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("this is Node 20.11.1") });
  });

  it("passes signals on, and dies of the signal that its child died of", async () => {
    bringNode(
      "trap 'echo told; trap - TERM; kill -TERM $$' TERM; echo ready; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; done; exit 3",
    );
    const child = spawn(process.execPath, [...OLD_NODE, launcher, "watch"], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (piece: Buffer) => {
      said += piece.toString();
      if (piece.toString().includes("ready")) child.kill("SIGTERM");
    });
    expect(await once(child, "close")).toEqual([null, "SIGTERM"]);
    expect(said).toBe("ready\ntold\n");
  });
});
