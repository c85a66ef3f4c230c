import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const FOLDERS = 40;
/** In a user namespace of its own a process may be given fewer watches than the machine has. */
const WITH_FEW_WATCHES = ["-Ur", "sh", "-c", 'echo 12 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh"];
const canLimit = spawnSync("unshare", [...WITH_FEW_WATCHES, "true"]).status === 0;

/** The kernel's own limit of watches, met by a real replica: not a watcher that is made to fail. */
describe.skipIf(!canLimit)("a replica that gets too few watches", () => {
  let base: string;
  let running: ChildProcess[];

  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-watches-")));
    running = [];
    mkdirSync(join(base, "run"), { mode: 0o700 });
    for (let i = 0; i < FOLDERS; i += 1) write("origin", `d${i}/file`, `${i}\n`);
  });

  afterEach(async () => {
    for (const child of running) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    rmSync(base, { recursive: true, force: true });
  });

  function write(side: string, path: string, content: string): void {
    mkdirSync(join(base, side, path, ".."), { recursive: true });
    writeFileSync(join(base, side, path), content);
  }

  const contentOf = (side: string, path: string): string | undefined =>
    existsSync(join(base, side, path)) ? readFileSync(join(base, side, path), "utf8") : undefined;

  /** Starts `chronicle` with a store of its own; what it says comes line by line. */
  function start(side: string, words: readonly string[], prefix: readonly string[] = []): string[] {
    const home = join(base, `${side}-home`);
    mkdirSync(home, { recursive: true });
    const argv = [...prefix, process.execPath, MAIN, "--store", join(home, "store"), ...words];
    const child = spawn(argv[0] ?? "", argv.slice(1), {
      cwd: join(base, side === "origin" ? "origin" : "."),
      env: { PATH: process.env["PATH"] ?? "", HOME: home, XDG_CONFIG_HOME: join(home, "config"), LC_ALL: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.push(child);
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => said.push(String(piece)));
    return said;
  }

  it("says so, looks again and again instead, and comes to the same files", { timeout: 60_000 }, async () => {
    const socket = join(base, "run/c.sock");
    start("origin", ["serve", "--replication", "--socket", socket]);
    await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
    const replicate = ["replicate", join(base, "desk"), "--connect", socket, "--json"];
    const said = start("desk", replicate, ["unshare", ...WITH_FEW_WATCHES]);
    const last = `d${FOLDERS - 1}/file`;
    await expect.poll(() => contentOf("desk", last), { timeout: 20_000 }).toBe(`${FOLDERS - 1}\n`);
    await expect.poll(() => said.join(""), { timeout: 20_000 }).toContain("cannot be watched as a whole");
    write("desk", last, "edited at the desk\n");
    write("desk", "new/deep/file", "made at the desk\n");
    write("origin", "d0/file", "edited at the origin\n");
    for (const [side, path, content] of [
      ["origin", last, "edited at the desk\n"],
      ["origin", "new/deep/file", "made at the desk\n"],
      ["desk", "d0/file", "edited at the origin\n"],
    ] as const) {
      await expect.poll(() => contentOf(side, path), { timeout: 20_000 }).toBe(content);
    }
  });
});
