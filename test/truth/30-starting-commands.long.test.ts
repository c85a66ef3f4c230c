import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ChronicleError } from "../../src/core/values/errors.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { replicaHello } from "../../src/replication/replica/replica-hello.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ServerProcess } from "../helpers/server-process.ts";

/** A server that begins the history of its folder, and cannot finish: a lock that it needs is held until `letGo`. */
let origin: ServerProcess;
let holder: DatabaseSync;
let isHeld = false;

function atOrigin(args: readonly string[]) {
  const env = {
    CI: "true",
    PATH: process.env["PATH"],
    HOME: origin.base,
    XDG_CONFIG_HOME: join(origin.base, "config"),
  };
  return { argv: [chronicleBin(), ...args], options: { cwd: origin.base, env } };
}

function letGo(): void {
  if (!isHeld) return;
  isHeld = false;
  holder.exec("ROLLBACK");
  holder.close();
}

beforeEach(async () => {
  origin = new ServerProcess(["--replication", "--wait", "300"]);
  writeFileSync(join(origin.project, "a.txt"), "one\n");
  // Another workspace exists already. It is not the one that the commands are about.
  const { argv, options } = atOrigin(["--store", origin.home, "workspaces", "create", "other"]);
  const made = spawnSync(process.execPath, argv, { ...options, encoding: "utf8" });
  if (made.status !== 0) throw new Error(made.stderr);
  holder = new DatabaseSync(join(origin.home, "blobs", "gc.db"));
  holder.exec("BEGIN EXCLUSIVE");
  isHeld = true;
  await origin.start();
});

afterEach(async () => {
  letGo();
  await origin[Symbol.asyncDispose]();
});

/**
 * Returns what an origin says first to a replica that names no workspace: the type of the message, or the error that
 * ends the connection.
 */
async function firstWord(way: string): Promise<string | Pick<ChronicleError, "code" | "data">> {
  const address = way === "socket" ? { url: origin.socketUrl } : { url: origin.url, token: origin.token };
  const ending = new AbortController();
  try {
    const channel = await dialOrigin(address, ending.signal);
    await channel.send(replicaHello({ sandboxId: `replica-by-${way}`, upstream: { head: { seq: 0, hash: "" } } }));
    for await (const { type } of channel.receive()) return type;
    return "nothing";
  } catch (error) {
    const { code, data } = error as ChronicleError;
    return { code, data };
  } finally {
    ending.abort();
  }
}

describe("Truth 30: a server that still begins the history of its folder", { timeout: 180_000 }, () => {
  it("is asked again by a command until the history is begun, and the command is about that folder", async () => {
    const { argv, options } = atOrigin(["--remote", origin.socketUrl, "cat", "a.txt"]);
    const child = spawn(process.execPath, argv, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "close");
    const said = { out: "", err: "" };
    child.stdout.on("data", (piece: Buffer) => (said.out += String(piece)));
    child.stderr.on("data", (piece: Buffer) => (said.err += String(piece)));
    while (!said.err.includes("starting") && child.exitCode === null) await delay(50);
    // This is longer than a client keeps asking a server that does not answer.
    await Promise.race([ended, delay(8_000)]);
    expect({ ...said, code: child.exitCode }).toMatchObject({ out: "", code: null });
    letGo();
    expect(await ended).toEqual([0, null]);
    expect(said.out).toBe("one\n");
  });

  it("tells a program that it is starting, and names the workspace once that is known", async () => {
    const client = createClient({ url: origin.socketUrl });
    try {
      expect(await client.me()).toMatchObject({ default_workspace: null, starting: true });
      letGo();
      let me = await client.me();
      for (; me.starting === true; me = await client.me()) await delay(50);
      expect(me.default_workspace).toMatch(/^[0-9a-f-]{36}$/);
    } finally {
      await client.close();
    }
  });

  it.each(["socket", "port"])("tells a replica after some seconds that it is starting (%s)", async (way) => {
    expect(await firstWord(way)).toMatchObject({ code: "UNAVAILABLE", data: { about: "starting" } });
    letGo();
    let word = await firstWord(way);
    while (typeof word === "object" && word.code === "UNAVAILABLE") {
      await delay(200);
      word = await firstWord(way);
    }
    expect(word).toBe("HelloAck");
  });
});
