import assert from "node:assert/strict";
import { crc32, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sealEvents } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type Head, type RecordBody, type SealedEvent } from "../../src/core/values/event.ts";
import { sha256, type Hash } from "../../src/core/values/hash.ts";
import { notificationOf } from "../../src/replication/protocol/event-messages.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { NODE_TIMERS } from "../../src/util/timers.ts";
import { encodeLargeHeader, encodePiece } from "../../src/storage/large-format.ts";
import { packBlocks } from "../../src/storage/pack-blocks.ts";
import { fileEvent } from "../../src/testing/protocol-samples.ts";
import { RigReplica } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { HostilePeer } from "../helpers/hostile-peer.ts";

const MIB = 1024 ** 2;
const FIRST = fileEvent(EMPTY_HEAD, "a", "one");
const SECOND = fileEvent(FIRST, "a", "two");

/** A replica that follows an origin which is hostile. */
class Scene implements Disposable {
  readonly peer: HostilePeer;
  readonly replica: RigReplica;
  readonly session: ReplicaSession;
  readonly ended: ReturnType<ReplicaSession["run"]>;

  /** `held`: the events that the replica has already. */
  static async set(held: readonly SealedEvent[] = []): Promise<Scene> {
    const replica = await RigReplica.start(RigReplica.emptyDisk());
    if (held.length > 0) await replica.upstream.append(held);
    return new Scene(await HostilePeer.connect(), replica);
  }

  private constructor(peer: HostilePeer, replica: RigReplica) {
    this.peer = peer;
    this.replica = replica;
    this.session = new ReplicaSession(
      peer.channel,
      replica.options(new VirtualClock(), { timers: NODE_TIMERS, workspace: "w1" }),
    );
    this.ended = this.session.run();
  }

  /** Sends the origin's welcome. `head`: the head that the origin claims to have. */
  welcome(head: Head, more: object = {}): void {
    const { seq: sequence, hash } = head;
    this.peer.say({
      type: "HelloAck",
      version: 2,
      capabilities: ["witness"],
      workspace: "w1",
      head: { sequence, hash },
      settled_local_seq: 0,
      heartbeat_ms: 1_000,
      ...more,
    });
  }

  /** Sends an event as a file's notification. `content` and `changes` may contradict the event's line. */
  notify(event: SealedEvent, content?: string, changes: object = {}): void {
    const message = notificationOf(event, content === undefined ? undefined : Buffer.from(content));
    assert.ok(message !== undefined);
    const inline = message.inline_content;
    const { inline_content: _, ...head } = message;
    this.peer.say(
      { ...head, ...(inline === undefined ? {} : { inline_content: inline.length }), ...changes },
      inline ?? Buffer.alloc(0),
    );
  }

  /** Sends events as lines. */
  lines(...events: readonly SealedEvent[]): void {
    const lines = Buffer.from(events.map(({ line }) => `${line}\n`).join(""));
    const [first_sequence, last_sequence] = [events[0]?.seq, events.at(-1)?.seq];
    this.peer.say({ type: "Events", first_sequence, last_sequence, lines: lines.length }, lines);
  }

  [Symbol.dispose](): void {
    this.peer[Symbol.dispose]();
  }
}

/** Checks that the attack ends the conversation with this code, and that no further event was taken. */
async function isRefused(code: string, attack: (scene: Scene) => void, events = 0): Promise<Scene> {
  using scene = await Scene.set([FIRST, SECOND].slice(0, events));
  await scene.peer.next("Hello");
  attack(scene);
  expect(await scene.ended).toMatchObject({ error: { code } });
  expect(scene.replica.upstream.head.seq).toBe(events);
  expect(scene.replica.handedOn).toEqual([]);
  return scene;
}

/** An event with any record, correctly sealed. */
function sealed(recordId: string, record: RecordBody, head: Head = EMPTY_HEAD): SealedEvent {
  const [event] = sealEvents(head, [{ op: "upsert", recordId, record }], "2026-01-31T09:30:00.000Z");
  assert.ok(event !== undefined);
  return event;
}

const FILE = FIRST.record;

describe("P1, P2: states that no file can have", () => {
  it.each<[string, RecordBody]>([
    ["no hash", { ...FILE, hash: "" }],
    ["a size of -1", { ...FILE, size: -1 }],
    ["a mode over 07777", { ...FILE, mode: 0o10000 }],
    ["another kind", { ...FILE, kind: "device" }],
  ])("P1: a line of a file with %s is refused", async (_, record) => {
    await isRefused("INTEGRITY_VIOLATION", (scene) => {
      const event = sealed("file:a", record);
      scene.welcome(event);
      scene.lines(event);
    });
  });
});

describe("P1: paths that leave the folder", () => {
  it.each(["../x", "/etc/passwd", "a/../../x", "a//b", ".", "a/\0b"])(
    "P1: a line of the file %j is refused",
    async (path) => {
      await isRefused(expect.stringMatching(/^(PATH_INVALID|INTEGRITY_VIOLATION|USAGE)$/u) as string, (scene) => {
        const event = sealed(`file:${path}`, FILE);
        scene.welcome(event);
        scene.lines(event);
      });
    },
  );

  it.each(["../x", "/etc/passwd", "C:\\x", "a/../../x"])("P1: a notification of %j is refused", async (filepath) => {
    await isRefused("PATH_INVALID", (scene) => {
      scene.welcome(FIRST);
      scene.notify(FIRST, "one", { filepath });
    });
  });

  it("P1: a notification of another file than its line says is refused", async () => {
    await isRefused("INTEGRITY_VIOLATION", (scene) => {
      scene.welcome(FIRST);
      scene.notify(FIRST, "one", { filepath: "b" });
    });
  });
});

describe("P2: contents that are not what they are called", () => {
  it("P2: an inline content that does not have its event's hash is refused, and not stored", async () => {
    const { replica } = await isRefused("INTEGRITY_VIOLATION", (scene) => {
      scene.welcome(FIRST);
      scene.notify(FIRST, "0ne");
    });
    expect(await replica.blobs.has([sha256("one"), sha256("0ne")])).toEqual(new Set());
  });

  it.each([
    ["other bytes", "0ne", {}],
    ["fewer bytes", "on", { size: 2 }],
    ["more bytes", "ones", { size: 4 }],
    ["nothing", "", { size: 0 }],
  ])("P2: an answer to a fetch with %s is refused, and not stored", async (_, content, more) => {
    using scene = await Scene.set();
    await scene.peer.next("Hello");
    scene.welcome(FIRST);
    scene.lines(FIRST);
    const { content_hash } = await scene.peer.next("ContentFetchRequest");
    const head = { type: "ContentFetchResponse", content_hash, content: content.length, size: 3, offset: 0, ...more };
    scene.peer.say(head, Buffer.from(content));
    expect(await scene.ended).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    expect(scene.replica.upstream.head.seq).toBe(0);
    expect(await scene.replica.blobs.has([sha256("one"), sha256(content)])).toEqual(new Set());
  });

  it.each<[string, object]>([
    ["that are none of the content", { chunks: [{ hash: sha256("x"), offset: 0, size: 3 }] }],
    ["of another size", { total_size: 4, chunks: [{ hash: sha256("one"), offset: 0, size: 4 }] }],
    ["with a hole", { chunks: [{ hash: sha256("o"), offset: 1, size: 2 }] }],
    [
      "of 1 TiB",
      { total_size: 2 ** 40, chunk_size: 2 ** 40, chunks: [{ hash: sha256("o"), offset: 0, size: 2 ** 40 }] },
    ],
    ["of nothing", { chunks: [] }],
  ])("P2, P3: chunks %s are refused", async (_, manifest) => {
    using scene = await Scene.set();
    await scene.peer.next("Hello");
    scene.welcome(FIRST);
    scene.lines(FIRST);
    const { content_hash } = await scene.peer.next("ContentFetchRequest");
    const chunk_manifest = { total_size: 3, chunk_size: 3, ...manifest };
    const size = chunk_manifest.total_size;
    scene.peer.say(
      { type: "ContentFetchResponse", content_hash, content: 0, size, offset: 0, chunk_manifest },
      Buffer.alloc(0),
    );
    await Promise.race([scene.ended, answerEverything(scene.peer, content_hash)]);
    expect(await scene.ended).toMatchObject({
      error: { code: expect.stringMatching(/^(INTEGRITY_VIOLATION|USAGE|LIMIT_EXCEEDED)$/u) as string },
    });
    expect(scene.replica.upstream.head.seq).toBe(0);
  });
});

/** Blocks of these contents, as an honest origin would send them. */
function blocksOf(...contents: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(
    contents.flatMap((content) => [...packBlocks([Buffer.from(content)])].map(({ bytes }) => bytes)),
  );
}

/** The container of a content, with any hash and length in its header. */
function containerOf(hash: Hash, length: number, pieces: readonly Buffer[]): Buffer {
  return Buffer.concat([encodeLargeHeader({ hash, length }), ...pieces]);
}

const MILLION = encodePiece(MIB, zstdCompressSync(Buffer.alloc(MIB)));

describe("P2, P3: blocks that are not what was asked for", () => {
  /** The replica has asked for the content of the first event. */
  async function asked(): Promise<Scene> {
    const scene = await Scene.set();
    await scene.peer.next("Hello");
    scene.welcome(FIRST, { capabilities: ["witness", "blocks"] });
    scene.lines(FIRST);
    const { hashes } = await scene.peer.next("BlocksRequest");
    expect(Buffer.from(hashes).toString("hex")).toBe(sha256("one"));
    return scene;
  }

  const answer = (scene: Scene, blocks: Uint8Array, more: object = {}): void =>
    scene.peer.say({ type: "BlocksResponse", blocks: blocks.length, absent: [], apart: [], ...more }, blocks);

  it("P2: a block with what was asked for is taken", async () => {
    using scene = await asked();
    answer(scene, blocksOf("one"));
    await scene.session.reaches(1);
    expect(await scene.replica.blobs.get(sha256("one"))).toEqual(Buffer.from("one"));
  });

  it.each<[string, string, () => Buffer]>([
    ["another content", "INTEGRITY_VIOLATION", () => renamed(blocksOf("0ne"), sha256("0ne"), sha256("one"))],
    [
      "another content beside the one that was asked for",
      "INTEGRITY_VIOLATION",
      () => [...packBlocks(["one", "two"].map((text) => Buffer.from(text)))][0]?.bytes as Buffer,
    ],
    [
      "the content twice in one block",
      "INTEGRITY_VIOLATION",
      () => [...packBlocks(["one", "one"].map((text) => Buffer.from(text)))][0]?.bytes as Buffer,
    ],
    ["no block", "INTEGRITY_VIOLATION", () => Buffer.from("one")],
    ["half a block", "INTEGRITY_VIOLATION", () => blocksOf("one").subarray(0, -1)],
    ["a bit that was flipped", "INTEGRITY_VIOLATION", () => flipped(blocksOf("one"))],
    ["a block, and something behind it", "INTEGRITY_VIOLATION", () => Buffer.concat([blocksOf("one"), Buffer.of(0)])],
    [
      "a container of 3 GiB in 2 MB",
      "INTEGRITY_VIOLATION",
      () => containerOf(sha256("one"), 3_000 * MIB, Array<Buffer>(3_000).fill(MILLION)),
    ],
    [
      "a container of 60 MiB that does not have the hash",
      "INTEGRITY_VIOLATION",
      () => containerOf(sha256("one"), 60 * MIB, Array<Buffer>(60).fill(MILLION)),
    ],
  ])("P2, P3: an answer with %s is refused, and nothing is stored", async (_, code, blocks) => {
    using scene = await asked();
    const before = process.memoryUsage().rss;
    answer(scene, blocks());
    expect(await scene.ended).toMatchObject({ error: { code } });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * MIB);
    expect(scene.replica.upstream.head.seq).toBe(0);
    expect(await Array.fromAsync(scene.replica.blobs.list())).toEqual([]);
    expect(await Array.fromAsync(scene.replica.blobs.verify())).toEqual([]);
  });

  it("P4: answers that were not asked for, or that come again, do not end the conversation", async () => {
    using scene = await asked();
    answer(scene, blocksOf("two"), { absent: [sha256("three")], apart: [sha256("four")] });
    answer(scene, blocksOf("one"));
    await scene.session.reaches(1);
    answer(scene, blocksOf("one"));
    scene.lines(SECOND);
    await scene.peer.next("Ack");
    answer(scene, blocksOf("two"));
    await scene.session.reaches(2);
    expect(await scene.replica.blobs.has(["three", "four"].map((text) => sha256(text)))).toEqual(new Set());
  });

  it("P2: a content said to be absent counts as missing; one said to be apart is refused if its bytes are wrong", async () => {
    using absent = await asked();
    answer(absent, Buffer.alloc(0), { absent: [sha256("one")] });
    await absent.session.reaches(1);
    expect([...absent.session.missing]).toEqual([sha256("one")]);
    using apart = await asked();
    answer(apart, Buffer.alloc(0), { apart: [sha256("one")] });
    const { content_hash } = await apart.peer.next("ContentFetchRequest");
    apart.peer.say({ type: "ContentFetchResponse", content_hash, content: 3, size: 3, offset: 0 }, Buffer.from("0ne"));
    expect(await apart.ended).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
  });
});

/** The block with another hash in its table, and with the checksum of the changed table. */
function renamed(block: Buffer, from: Hash, to: Hash): Buffer {
  const head = Buffer.from(block);
  Buffer.from(to, "hex").copy(head, head.indexOf(Buffer.from(from, "hex")));
  head.writeUInt32BE(crc32(head.subarray(20, 60), crc32(head.subarray(0, 16))), 16);
  return head;
}

function flipped(block: Buffer): Buffer {
  const copy = Buffer.from(block);
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
}

/** Answers every request for a piece with the three bytes of the content. */
async function answerEverything(peer: HostilePeer, content_hash: string): Promise<void> {
  for (let at = 1; ;) {
    const asked = peer.heard.filter((message) => message.type === "ContentFetchRequest");
    for (const { offset } of asked.slice(at)) {
      const head = { type: "ContentFetchResponse", content_hash, content: 3, size: 3, offset: offset ?? 0 };
      peer.say(head, Buffer.from("one"));
    }
    at = Math.max(at, asked.length);
    await new Promise((done) => setTimeout(done, 2));
  }
}

describe("P3: lengths and numbers", () => {
  it.each<[string, string, (scene: Scene) => void]>([
    ["a frame of 4 GiB", "LIMIT_EXCEEDED", ({ peer }) => peer.announce(0xffff_ffff, 0xffff_ffff)],
    [
      "lines that are not there",
      "USAGE",
      ({ peer }) => peer.say({ type: "Events", first_sequence: 1, last_sequence: 1, lines: 9 }),
    ],
    [
      "a heartbeat of -1",
      "USAGE",
      ({ peer }) => peer.say({ type: "Heartbeat", agent_sequence: -1, agent_iteration: 0 }),
    ],
    [
      "a line in parts of 2^50 bytes",
      "USAGE",
      (scene) => {
        scene.welcome(FIRST);
        const part = { offset: 0, total: 2 ** 50 };
        scene.peer.say({ type: "Events", first_sequence: 1, last_sequence: 1, lines: 3, part }, Buffer.from("abc"));
      },
    ],
    [
      "lines of 65 MiB",
      "USAGE",
      (scene) => {
        scene.welcome(FIRST);
        const part = { offset: 0, total: 65 * MIB };
        scene.peer.say({ type: "Events", first_sequence: 1, last_sequence: 1, lines: 3, part }, Buffer.from("abc"));
      },
    ],
    ["a beat every 2^40 ms", "USAGE", (scene) => scene.welcome(FIRST, { heartbeat_ms: 2 ** 40 })],
    ["a beat every 0 ms", "USAGE", (scene) => scene.welcome(FIRST, { heartbeat_ms: 0 })],
  ])("P3: the conversation is ended by %s", async (_, code, attack) => {
    await isRefused(code, attack);
  });
});

describe("P4: histories that go back, repeat or leave out", () => {
  it("P4: an event that comes again is taken once", async () => {
    using scene = await Scene.set();
    await scene.peer.next("Hello");
    scene.welcome(SECOND);
    for (const event of [FIRST, FIRST, SECOND, FIRST, SECOND]) {
      scene.notify(event, event === FIRST ? "one" : "two");
    }
    await scene.session.reaches(2);
    expect(scene.replica.bytes).toBe(`${FIRST.line}\n${SECOND.line}\n`);
    expect(scene.replica.handedOn).toEqual([1, 2]);
  });

  it("P4: a gap is asked for, not skipped", async () => {
    using scene = await Scene.set();
    await scene.peer.next("Hello");
    scene.welcome(SECOND);
    scene.notify(SECOND, "two");
    expect(await scene.peer.next("CatchupRequest")).toMatchObject({ since_sequence: 0 });
    expect(scene.replica.bytes).toBe("");
    scene.notify(FIRST, "one");
    scene.notify(SECOND, "two");
    await scene.session.reaches(2);
    expect(scene.replica.handedOn).toEqual([1, 2]);
  });

  it("P4: a history that ends before the replica's last event is refused, and the witness notes it", async () => {
    const { replica } = await isRefused("INTEGRITY_VIOLATION", (scene) => scene.welcome(FIRST), 2);
    expect(replica.notes.get()).toMatchObject({ workspace: "w1", sequence: 2 });
  });

  it("P4: another history of the same length is refused, and the witness notes it", async () => {
    const other = fileEvent(FIRST, "a", "zwei");
    const { replica } = await isRefused("INTEGRITY_VIOLATION", (scene) => scene.welcome(other), 2);
    expect(replica.notes.get()).toMatchObject({ workspace: "w1", sequence: 2, told: other.hash });
  });

  it("P4: a line that does not have its hash is refused", async () => {
    await isRefused("INTEGRITY_VIOLATION", (scene) => {
      scene.welcome(FIRST);
      scene.lines({ ...FIRST, line: FIRST.line.replace('"test"', '"tess"') });
    });
  });

  it("P4: another workspace is refused", async () => {
    await isRefused("NOT_FOUND", (scene) => scene.welcome(FIRST, { workspace: "w2" }));
  });
});

describe("P8: origins that do not answer", () => {
  it("P8: silence after the welcome ends the conversation", async () => {
    await isRefused("UNAVAILABLE", (scene) => scene.welcome(EMPTY_HEAD, { heartbeat_ms: 100 }));
  });

  it("P8: events that came before a reset in the middle of a frame are kept", async () => {
    using scene = await Scene.set();
    await scene.peer.next("Hello");
    scene.welcome(SECOND);
    scene.notify(FIRST, "one");
    await scene.session.reaches(1);
    scene.peer.announce(5_000, 0, Buffer.alloc(50, 0x20));
    scene.peer.reset();
    expect(await scene.ended).toMatchObject({ by: "transport", error: { code: "UNAVAILABLE" } });
    expect(scene.replica.bytes).toBe(`${FIRST.line}\n`);
  });
});

describe("P16: an origin that tells two replicas different things", () => {
  it("P16: the other replica refuses the head that one of them has seen, and its witness notes it", async () => {
    const fork = fileEvent(FIRST, "a", "another two");
    using one = await Scene.set([FIRST, SECOND]);
    using other = await Scene.set([FIRST, fork]);
    const { seq: sequence, hash: head_hash } = one.replica.upstream.head;
    await other.peer.next("Hello");
    other.welcome(fork);
    other.peer.say({ type: "HeadWitness", workspace: "w1", sequence, head_hash, root: head_hash });
    expect(await other.ended).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    expect(other.replica.notes.get()).toMatchObject({ sequence: 2, held: fork.hash, told: SECOND.hash });
  });
});
