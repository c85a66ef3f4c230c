import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { CutWire, freePort } from "../helpers/cut-wire.ts";
import { contentsIn, FolderWriter, folderOf, hashesOf, random, writtenTwice } from "../helpers/replica-trial.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { WriteClient } from "../crash/write-client.ts";

/**
 * P8: connections between real processes break as in real networks: without notice, in one direction or both, or by a
 * reset in the middle of a frame. Others carry single bytes. There is an origin, and a store in which folders follow
 * it, each over a wire of its own.
 */

const PATIENCE_MS = 60_000;
const MIB = 1024 ** 2;

/** What is closed at the end, in reverse order. */
const stack = new AsyncDisposableStack();
let origin: ServerProcess;
let replicas: ServerProcess;
let there: ChronicleClient;
let here: ChronicleClient;
let workspace: string;
/** The wire over TCP. It leads to the port on which the origin listens for replicas. */
let tcp: CutWire;

beforeAll(async () => {
  const port = await freePort();
  tcp = stack.use(new CutWire(0, port));
  await tcp.listen();
  const listen = ["--listen", `127.0.0.1:${port}`, "--allow-host", `127.0.0.1:${tcp.port}`];
  origin = stack.use(new ServerProcess(["--replication", ...listen]));
  replicas = stack.use(new ServerProcess());
  await Promise.all([origin.start(), replicas.start()]);
  [there, here] = [createClient({ url: origin.socketUrl }), createClient({ url: replicas.socketUrl })];
  stack.defer(() => there.close());
  stack.defer(() => here.close());
  workspace = await folderOf(there);
}, PATIENCE_MS);

afterAll(() => stack.disposeAsync());

/** A folder that follows the origin, and the wire in between. */
interface Follower {
  readonly id: string;
  readonly folder: string;
  readonly wire: CutWire;
}

async function follow(name: string, way: "socket" | "tcp" = "socket"): Promise<Follower> {
  const folder = join(replicas.base, name);
  const asked = { folder, workspace };
  if (way === "tcp") {
    const { id } = await here.syncs.start({ ...asked, upstream: `http://127.0.0.1:${tcp.port}`, token: origin.token });
    return { id, folder, wire: tcp };
  }
  const wire = stack.use(new CutWire(join(replicas.base, `${name}.sock`), origin.socketUrl.slice("unix:".length)));
  await wire.listen();
  const { id } = await here.syncs.start({ ...asked, upstream: `unix:${wire.path}` });
  return { id, folder, wire };
}

/** Checks that all folders are equal, and that nothing was recorded twice. */
async function expectEqual(followers: readonly Follower[]): Promise<void> {
  // The first round brings everything to the origin, and the second one from there to everybody. A flush answers for what was
  // changed before it: while others still bring something, the origin may already be ahead of that answer by their events.
  for (const { id } of followers) expect(await here.syncs.flush(id), id).toMatchObject({ conflicts: 0, pending: 0 });
  for (const { id } of followers)
    expect(await here.syncs.flush(id), id).toMatchObject({ conflicts: 0, pending: 0, lag: 0 });
  for (const { folder } of followers) expect(contentsIn(folder)).toEqual(contentsIn(origin.project));
  expect(writtenTwice(await there.workspace(workspace).log())).toEqual([]);
}

/** How many replicas the origin believes to be connected. */
async function believed(): Promise<number> {
  const headers = { authorization: `Bearer ${origin.token}` };
  const text = await (await fetch(`${origin.url}/metrics`, { headers })).text();
  return Number(/^chronicle_replicas (\d+)$/m.exec(text)?.[1]);
}

test("half-open connections under load, both ways and one way, are noticed by each side, and all folders become equal", async () => {
  const names = ["both", "up", "down", "tcp"] as const;
  const followers = await Promise.all(names.map((name) => follow(name, name === "tcp" ? "tcp" : "socket")));
  for (const { id } of followers) await here.syncs.flush(id);
  const source = there.workspace(workspace);
  const ending = new AbortController();
  const writer = new WriteClient(source, "o", random(1));
  const programs = [...followers, { folder: origin.project }].map(
    ({ folder }, n) => new FolderWriter(folder, `by-${names[n] ?? "origin"}`, 400),
  );
  const running = Promise.all([writer, ...programs].map((one) => one.run(ending.signal)));
  await Promise.race([delay(1_000), running]);
  const made = followers.map(({ wire }) => wire.made);
  for (const [n, { wire }] of followers.entries()) {
    const name = names[n] ?? "both";
    wire.swallow(name === "up" || name === "down" ? name : undefined);
  }
  const again = (): void => {
    for (const [n, { wire }] of followers.entries()) expect(wire.made, names[n]).toBeGreaterThan(made[n] ?? 0);
  };
  await Promise.race([vi.waitFor(again, { timeout: PATIENCE_MS, interval: 100 }), running]);
  ending.abort();
  await running;
  await expectEqual(followers);
  for (const { left } of programs)
    for (const [path, content] of left)
      for (const { folder } of followers) expect(readFileSync(join(folder, path), "utf8"), path).toBe(content);
  expect(await writer.complaints(source)).toEqual([]);
  // The origin counts no replica whose connection is gone.
  await vi.waitFor(async () => expect(await believed()).toBe(followers.length), {
    timeout: PATIENCE_MS,
    interval: 250,
  });
  // The origin has noted the connection from which it heard nothing any more.
  const noted = readFileSync(join(origin.home, "run", "diagnostics.log"), "utf8");
  expect(noted).toMatch(
    /the replica has sent nothing for 6 s: the connection of replica \S+ of workspace \S+ was ended/,
  );
  for (const id of [...followers.map((one) => one.id)]) await here.syncs.stop(id);
}, 180_000);

test("a content that resets interrupt again and again arrives, and is not sent from its beginning each time", async () => {
  const one = await follow("reset", "tcp");
  await here.syncs.flush(one.id);
  const content = randomBytes(24 * MIB);
  const before = { ...one.wire.passed };
  const { cuts } = one.wire;
  const resets = resetEvery(one.wire, 6 * MIB, 3);
  writeFileSync(join(origin.project, "large-there"), content);
  writeFileSync(join(one.folder, "large-here"), randomBytes(24 * MIB));
  await vi.waitFor(() => expect(readFileSync(join(one.folder, "large-there")).equals(content)).toBe(true), {
    timeout: PATIENCE_MS,
    interval: 100,
  });
  await resets;
  await expectEqual([one]);
  expect(one.wire.cuts - cuts).toBe(3);
  // A reset loses only the bytes that were on their way, not those that had arrived.
  for (const way of ["up", "down"] as const) expect(one.wire.passed[way] - before[way]).toBeLessThan(24 * 2 * MIB);
  await here.syncs.stop(one.id);
}, 180_000);

test("files arrive as they were sent over connections that carry single bytes and are cut meanwhile", async () => {
  const wires = await Promise.all([follow("slow-socket"), follow("slow-tcp", "tcp")]);
  for (const { id } of wires) await here.syncs.flush(id);
  const before = await there.workspace(workspace).log();
  for (const { wire } of wires) wire.dribble();
  for (let n = 0; n < 10; n += 1) {
    writeFileSync(join(origin.project, `drop-there-${n}`), `there ${n}\n`.repeat(1 + n * 60));
    for (const [at, { folder }] of wires.entries())
      writeFileSync(join(folder, `drop-${at}-${n}`), `here ${n}\n`.repeat(20));
    if (n === 3) for (const { wire } of wires) wire.cut("reset");
    if (n === 6) for (const { wire } of wires) wire.cut("end");
    await delay(50);
  }
  await expectEqual(wires);
  const after = await there.workspace(workspace).log({ from: before.length + 1 });
  expect(new Set(after.flatMap(hashesOf)).size).toBeGreaterThanOrEqual(20);
  for (const { wire, id } of wires) {
    wire.dribble(false);
    await here.syncs.stop(id);
  }
}, 180_000);

/** Resets a connection in the middle of a frame `times` times, each time after `bytes` more bytes have passed. */
async function resetEvery(wire: CutWire, bytes: number, times: number): Promise<void> {
  const total = (): number => wire.passed.up + wire.passed.down;
  for (let n = 1, next = total() + bytes; n <= times; n += 1, next = total() + bytes) {
    await vi.waitFor(() => expect(total()).toBeGreaterThan(next), { timeout: PATIENCE_MS, interval: 2 });
    const { cuts } = wire;
    wire.cut("reset");
    await vi.waitFor(() => expect(wire.cuts).toBeGreaterThan(cuts), { timeout: PATIENCE_MS, interval: 2 });
  }
}
