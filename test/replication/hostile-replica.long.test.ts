import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { OriginSession, type OriginOptions } from "../../src/replication/origin/origin-session.ts";
import { NODE_TIMERS } from "../../src/util/timers.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { RigOrigin, RigReplica } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { HostilePeer, socketPair } from "../helpers/hostile-peer.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { SocketWire } from "../../src/replication/channels/socket-wire.ts";

const MIB = 1024 ** 2;
const HASH = sha256("content");

/** An origin with a history of three events, a replica that is served as it should be, and one that is hostile. */
class Scene implements AsyncDisposable {
  readonly origin = new RigOrigin();
  readonly hostile: HostilePeer;
  readonly #honest: RigReplica;
  readonly #stack: AsyncDisposableStack;

  static async set(more: Partial<OriginOptions> = {}): Promise<Scene> {
    const stack = new AsyncDisposableStack();
    const honest = await RigReplica.start(RigReplica.emptyDisk());
    const scene = new Scene(honest, stack.use(await HostilePeer.connect()), stack);
    for (const text of ["one", "two", "three"]) await scene.origin.write("a", text);
    const pair = stack.use(await socketPair());
    const channel = (socket: typeof pair.ours) => new FramedChannel(new SocketWire(socket));
    void scene.#sessionOn(channel(pair.ours), more).run();
    void new ReplicaSession(
      channel(pair.theirs),
      honest.options(new VirtualClock(), { timers: NODE_TIMERS, sandboxId: "honest" }),
    ).run();
    void scene.#sessionOn(scene.hostile.channel, more).run();
    return scene;
  }

  private constructor(honest: RigReplica, hostile: HostilePeer, stack: AsyncDisposableStack) {
    this.#honest = honest;
    this.hostile = hostile;
    this.#stack = stack;
  }

  #sessionOn(channel: HostilePeer["channel"], more: Partial<OriginOptions>): OriginSession {
    return new OriginSession(channel, this.origin.options(new VirtualClock(), { timers: NODE_TIMERS, ...more }));
  }

  /** Says Hello as every replica does, and waits until all events were sent. */
  async greet(): Promise<void> {
    this.hostile.say(HELLO);
    await this.hostile.next("HelloAck");
    await this.#until(() => this.hostile.heard.filter(({ type }) => type === "Notification").length === 3);
  }

  /** Checks that the origin's history is as it was, and that the honest replica is still served. */
  async isUnharmed(events = 3): Promise<void> {
    assert.equal(this.origin.head.seq, events);
    await this.origin.write("b", "later");
    await this.#until(() => this.#honest.upstream.head.seq === events + 1);
    assert.ok(this.#honest.bytes === this.origin.bytes, "the honest replica was not served");
  }

  async #until(holds: () => boolean): Promise<void> {
    for (let waited = 0; waited < 2_000 && !holds(); waited += 1) await new Promise((done) => setTimeout(done, 1));
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#stack.disposeAsync();
  }
}

const HELLO = {
  type: "Hello",
  versions: [2],
  capabilities: ["witness", "tree", "blocks"],
  sandbox_id: "hostile",
  head: { sequence: 0, hash: "" },
  settled_local_seq: 0,
};

const STATE = { kind: "file", content_hash: HASH, size: 7, permissions: 0o644, is_deletion: false };
const ENTRY = { local_seq: 1, filepath: "x", ...STATE, mtime_ms: 1, master_rowid_seen: 0, actor: "a" };
const writeBack = (...entries: object[]) => ({ type: "WriteBack", sandbox_id: "hostile", entries });

/** Checks that the attack ends the peer's connection with this code, and does nothing else. */
async function isRefused(code: string, attack: (peer: HostilePeer) => void, options?: Partial<OriginOptions>) {
  await using scene = await Scene.set(options);
  await scene.greet();
  attack(scene.hostile);
  expect(await scene.hostile.closed()).toMatchObject({ code });
  await scene.isUnharmed();
  return scene;
}

/** The same for a peer that reads nothing, so that the error does not reach it. */
async function isCutOff(code: string, attack: (peer: HostilePeer) => void, options?: Partial<OriginOptions>) {
  await using scene = await Scene.set(options);
  await scene.greet();
  scene.hostile.deafen();
  attack(scene.hostile);
  expect((await scene.hostile.channel.ended).error).toMatchObject({ code });
  await scene.isUnharmed();
}

describe("P1: paths that leave the workspace", () => {
  const paths: readonly object[] = [
    ...["../x", "/etc/passwd", "a/../../x", "a/./b", "a//b", "", "C:\\x", "C:/x", "\\\\host\\x", "a\0b"].map(
      (filepath) => ({ filepath }),
    ),
    { filepath: "x".repeat(70_000) },
    { filepath: "\ud800" },
    { filepath: 7 },
    { filepath: ["a"] },
    { filepath: undefined },
    { filepath: undefined, filepath_b64: Buffer.from("../x").toString("base64") },
    { filepath: undefined, filepath_b64: Buffer.from("plain").toString("base64") },
    { filepath: undefined, filepath_b64: Buffer.from([0xff, 0x2f, 0x2e, 0x2e, 0x2f, 0xff]).toString("base64") },
    { filepath: "a", filepath_b64: "/w==" },
    { filepath: "a", root: "../r" },
  ];

  it.each(paths.map((path) => [JSON.stringify(path).slice(0, 80), path] as const))(
    "P1: a write-back of %s is refused",
    async (_, path) => {
      await isRefused(expect.stringMatching(/^(PATH_INVALID|USAGE)$/u) as string, (peer) =>
        peer.say(writeBack({ ...ENTRY, ...path })),
      );
    },
  );

  it("P1: a listing of a folder outside of the workspace is refused", async () => {
    const ask = (filepath: string) => ({ type: "TreeRequest", sequence: 3, folders: [{ filepath }] });
    await isRefused("PATH_INVALID", (peer) => peer.say(ask("../..")));
    await isRefused("PATH_INVALID", (peer) => peer.say(ask("/etc")));
  });
});

describe("P3: lengths, depths and numbers", () => {
  it.each<[string, string, (peer: HostilePeer) => void]>([
    ["a head of 4 GiB", "LIMIT_EXCEEDED", (peer) => peer.announce(0xffff_ffff, 0)],
    ["a body of 4 GiB", "LIMIT_EXCEEDED", (peer) => peer.announce(10, 0xffff_ffff)],
    ["no frame at all", "INTEGRITY_VIOLATION", (peer) => peer.raw(Buffer.from("GET / HTTP/1.1\r\n\r\n"))],
    [
      "JSON that is nested 100,000 deep",
      "LIMIT_EXCEEDED",
      (peer) => peer.say("[".repeat(100_000) + "]".repeat(100_000)),
    ],
    [
      "100,000 keys",
      "LIMIT_EXCEEDED",
      (peer) => peer.say(`{${Array.from({ length: 100_000 }, (_, i) => `"${i}":0`).join()}}`),
    ],
    ["no JSON", "USAGE", (peer) => peer.say("{")],
    ["no UTF-8", "USAGE", (peer) => peer.say(writeBack(ENTRY), Buffer.from([0xff]))],
    ["an unknown type", "USAGE", (peer) => peer.say({ type: "Delete", everything: true })],
    ["__proto__", "USAGE", (peer) => peer.say('{"type":"Ack","up_to_sequence":1,"__proto__":{"a":1}}')],
    ["an ack of -1", "USAGE", (peer) => peer.say({ type: "Ack", up_to_sequence: -1 })],
    ["an ack of 1e308", "USAGE", (peer) => peer.say('{"type":"Ack","up_to_sequence":1e308}')],
    ["an ack of 1e999", "USAGE", (peer) => peer.say('{"type":"Ack","up_to_sequence":1e999}')],
    ["an ack of a half", "USAGE", (peer) => peer.say({ type: "Ack", up_to_sequence: 0.5 })],
    ["a size of -1", "USAGE", (peer) => peer.say(writeBack({ ...ENTRY, size: -1 }))],
    ["a time of NaN", "USAGE", (peer) => peer.say(writeBack({ ...ENTRY, mtime_ms: null }))],
    ["bytes that are not there", "USAGE", (peer) => peer.say(writeBack({ ...ENTRY, inline_content: 7 }))],
    ["more bytes than are there", "USAGE", (peer) => peer.say(writeBack({ ...ENTRY, inline_content: 7 }), HASHED)],
    [
      "501 entries",
      "USAGE",
      (peer) => peer.say(writeBack(...Array.from({ length: 501 }, (_, i) => ({ ...ENTRY, local_seq: i + 1 })))),
    ],
    [
      "a piece of 2^52 bytes",
      "USAGE",
      (peer) => peer.say({ type: "ContentFetchRequest", content_hash: HASH, offset: 0, length: 2 ** 52 }),
    ],
    [
      "a fetch below zero",
      "USAGE",
      (peer) => peer.say({ type: "ContentFetchRequest", content_hash: HASH, offset: -5, length: 5 }),
    ],
  ])("P3: the connection is ended by %s", async (_, code, attack) => {
    await isRefused(code, attack);
  });

  it("P3: a flood of requests whose answers nobody reads is cut off, takes bounded memory, and delays no others", async () => {
    const before = process.memoryUsage().rss;
    await isCutOff("LIMIT_EXCEEDED", (peer) => {
      for (let i = 0; i < 20_000; i += 1) peer.say({ type: "ContentFetchRequest", content_hash: sha256(String(i)) });
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(96 * MIB);
  });

  it("P3: a flood of requests for contents in blocks is cut off, and takes bounded memory", async () => {
    const origin = new RigOrigin();
    const before = process.memoryUsage().rss;
    await isCutOff(
      "LIMIT_EXCEEDED",
      (peer) => {
        for (let i = 0; i < 20; i += 1) peer.say({ type: "BlocksRequest", hashes: 320_000 }, randomBytes(320_000));
      },
      { blocks: origin.blobs },
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(96 * MIB);
  });

  it("P7: a replica that asks for everything, and grants no credit, is sent a bounded number of bytes", async () => {
    const origin = new RigOrigin();
    const contents = Array.from({ length: 40 }, () => randomBytes(300_000));
    for (const content of contents) origin.contents.set(sha256(content), content);
    await using scene = await Scene.set({ blocks: origin.blobs });
    await scene.greet();
    const hashes = Buffer.concat(contents.map((content) => Buffer.from(sha256(content), "hex")));
    scene.hostile.say({ type: "BlocksRequest", hashes: hashes.length }, hashes);
    await scene.isUnharmed();
    const sent = scene.hostile.heard.map((one) => (one.type === "BlocksResponse" ? one.blocks.length : 0));
    expect(sent.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(3 * MIB);
    expect(scene.hostile.channel.pendingBytes).toBeLessThan(2 * MIB);
  });

  it("P3: a peer that sends more bytes than it was granted is cut off", async () => {
    const content = Buffer.alloc(2 * MIB);
    const head = {
      type: "ContentFetchResponse",
      content_hash: HASH,
      content: content.length,
      size: content.length,
      offset: 0,
    };
    await isRefused(expect.stringMatching(/^(LIMIT_EXCEEDED|USAGE)$/u) as string, (peer) => {
      for (let i = 0; i < 40; i += 1) peer.say(head, content);
    });
  });

  it("P3: bytes that never become a frame disturb no others", async () => {
    await using scene = await Scene.set();
    scene.hostile.announce(1_000_000, 0);
    for (let i = 0; i < 100; i += 1) scene.hostile.raw(Buffer.alloc(100, 0x20));
    await scene.isUnharmed();
    scene.hostile.reset();
    expect(scene.origin.cursors.get("hostile")).toBeUndefined();
  });
});

const HASHED = Buffer.from("abc");

describe("P4: what was said before, and what never was", () => {
  it.each<[string, object]>([
    ["an ack of the future", { type: "Ack", up_to_sequence: 4 }],
    [
      "a heartbeat of the future",
      { type: "SandboxHeartbeat", sandbox_id: "hostile", up_to_sequence: 9, local_seq: 0, pending: 0 },
    ],
    ["a catch-up from the future", { type: "CatchupRequest", sandbox_id: "hostile", since_sequence: 4 }],
    [
      "a head that is not the origin's",
      { type: "HeadWitness", workspace: "w1", sequence: 2, head_hash: HASH, root: HASH },
    ],
  ])("P4: %s is refused, and moves no cursor", async (_, message) => {
    const scene = await isRefused("INTEGRITY_VIOLATION", (peer) => peer.say(message));
    expect(scene.origin.cursors.get("hostile") ?? 0).toBe(0);
  });

  it("P4: acks that come twice, or go back, never move the cursor back", async () => {
    await using scene = await Scene.set();
    await scene.greet();
    for (const up_to_sequence of [2, 2, 1, 3, 0, 3]) scene.hostile.say({ type: "Ack", up_to_sequence });
    scene.hostile.say({ type: "BarrierRequest", sequence: 3 });
    await scene.hostile.next("BarrierConfirmation");
    expect(scene.origin.cursors.get("hostile")).toBe(3);
    await scene.isUnharmed();
  });

  it("P4: a replica that says Hello again under another name stays the first one", async () => {
    await using scene = await Scene.set();
    await scene.greet();
    scene.hostile.say({ ...HELLO, sandbox_id: "honest", head: { sequence: 3, hash: scene.origin.head.hash } });
    scene.hostile.say({ type: "Ack", up_to_sequence: 3 });
    scene.hostile.say({ type: "BarrierRequest", sequence: 3 });
    await scene.hostile.next("BarrierConfirmation");
    expect(scene.origin.cursors.get("hostile")).toBe(3);
    await scene.isUnharmed();
  });

  it("P4: a gap in the count of frames ends the connection", async () => {
    await isRefused("INTEGRITY_VIOLATION", (peer) => {
      peer.lose(1_000);
      peer.say({ type: "Ack", up_to_sequence: 3 });
    });
  });
});

describe("P6: messages before Hello", () => {
  it.each([
    { type: "Ack", up_to_sequence: 0 },
    { type: "ContentFetchRequest", content_hash: sha256("three") },
    { type: "CatchupRequest", sandbox_id: "hostile", since_sequence: 0 },
    writeBack(ENTRY),
  ])("P6: $type before Hello is refused", async (message) => {
    await using scene = await Scene.set();
    scene.hostile.say(message);
    expect(await scene.hostile.closed()).toMatchObject({ code: "USAGE" });
    expect(scene.hostile.heard.map(({ type }) => type).filter((type) => type !== "Credit")).toEqual(["Error"]);
    await scene.isUnharmed();
  });
});

describe("P7, P8: replicas that do not answer", () => {
  it.each(["grants nothing", "reads nothing"])(
    "P7: a replica that %s costs a bounded number of bytes, and delays no others",
    async (how) => {
      await using scene = await Scene.set({ windowBytes: MIB });
      scene.hostile.say(HELLO);
      await scene.hostile.next("HelloAck");
      if (how === "reads nothing") scene.hostile.deafen();
      for (let i = 0; i < 300; i += 1) await scene.origin.note(20_000);
      await scene.isUnharmed(303);
      expect(scene.hostile.channel.pendingBytes).toBeLessThan(2 * MIB);
      const sent = scene.hostile.heard.map((one) => (one.type === "Events" ? one.lines.length : 0));
      expect(sent.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(2 * MIB);
    },
  );

  it("P8: the connection of a silent replica is ended, and its cursor stays where it was", async () => {
    await using scene = await Scene.set({ heartbeatMs: 100 });
    await scene.greet();
    scene.hostile.say({ type: "Ack", up_to_sequence: 2 });
    expect(await scene.hostile.closed()).toMatchObject({ code: "UNAVAILABLE" });
    expect(scene.origin.cursors.get("hostile")).toBe(2);
    await scene.isUnharmed();
  });

  it("P8: a reset in the middle of a frame disturbs no others", async () => {
    await using scene = await Scene.set();
    await scene.greet();
    scene.hostile.announce(500, 0, Buffer.alloc(100, 0x20));
    scene.hostile.reset();
    expect(await scene.hostile.channel.ended).toMatchObject({ by: "transport", error: { code: "UNAVAILABLE" } });
    await scene.isUnharmed();
  });
});
