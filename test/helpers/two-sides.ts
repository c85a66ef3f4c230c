import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { sharedChronicleBin } from "./cli-package.ts";

/**
 * Timeout and interval of waiting, in milliseconds. In this time two programs start from their sources, one after the
 * other. Beside a dozen busy processes on two cores, one start takes 20 seconds.
 */
const PATIENCE = { timeout: 60_000, interval: 50 };

/** A process of one side. `said`: its output so far, piece by piece. */
export interface SideProcess {
  readonly child: ChildProcess;
  readonly said: string[];
}

/**
 * An origin and a replica as real processes, each with a store of its own, in the folders `origin` and `desk` of a
 * temporary folder.
 */
export class TwoSides implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-sides-")));
  readonly #running: ChildProcess[] = [];

  constructor() {
    mkdirSync(join(this.base, "run"), { mode: 0o700 });
  }

  path(side: "origin" | "desk", path: string): string {
    return join(this.base, side, path);
  }

  write(side: "origin" | "desk", path: string, content: string): void {
    const full = this.path(side, path);
    mkdirSync(join(full, ".."), { recursive: true });
    writeFileSync(full, content);
  }

  read(side: "origin" | "desk", path: string): string | undefined {
    const full = this.path(side, path);
    return existsSync(full) ? readFileSync(full, "utf8") : undefined;
  }

  /** Resolves once the file has this content. `undefined`: once it is absent. */
  async becomes(side: "origin" | "desk", path: string, content: string | undefined): Promise<void> {
    await vi.waitFor(() => assert.equal(this.read(side, path), content, `${side}: ${path}`), PATIENCE);
  }

  /**
   * Starts the server of the origin, and the replica that follows it. `prefix`: a command that runs the replica.
   * Resolves once the origin can be reached.
   */
  async follow(prefix: readonly string[] = []): Promise<SideProcess> {
    const socket = join(this.base, "run/c.sock");
    this.#start("origin", ["serve", "--replication", "--socket", socket]);
    await vi.waitFor(() => assert.ok(existsSync(socket), "the origin serves nothing"), PATIENCE);
    return this.#start("desk", ["replicate", this.path("desk", ""), "--connect", socket, "--json"], prefix);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) {
      // A stopped process gets no other signal before it continues.
      child.kill("SIGCONT");
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    rmSync(this.base, { recursive: true, force: true });
  }

  #start(side: "origin" | "desk", words: readonly string[], prefix: readonly string[] = []): SideProcess {
    const home = join(this.base, `${side}-home`);
    mkdirSync(home, { recursive: true });
    const argv = [...prefix, process.execPath, sharedChronicleBin(), "--store", join(home, "store"), ...words];
    const child = spawn(argv[0] ?? "", argv.slice(1), {
      cwd: side === "origin" ? this.path("origin", "") : this.base,
      env: {
        PATH: process.env["PATH"] ?? "",
        CI: "true",
        HOME: home,
        XDG_CONFIG_HOME: join(home, "config"),
        LC_ALL: "C.UTF-8",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running.push(child);
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => said.push(String(piece)));
    return { child, said };
  }
}
