import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { sha256, type Hash } from "../../src/core/values/hash.ts";
import { MemoryJournal } from "../../src/testing/memory-journal.ts";
import { RigReplica, type Talk, type TalkOptions } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { WriteBackRig } from "../../src/testing/write-back-rig.ts";
import { WritingOrigin, writingTalk } from "../../src/testing/writing-talk.ts";
import type { WriteBackTarget } from "../../src/replication/origin/write-back-intake.ts";
import { memoryChannels } from "../../src/replication/channels/memory-wire.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import type { Message, MessageOf } from "../../src/replication/protocol/messages.ts";

/** A conversation in which the replica writes. */
class Desk implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly journal = new MemoryJournal();
  readonly origin: WritingOrigin;
  readonly replica: RigReplica;
  going: Talk | undefined;

  private constructor(origin: WritingOrigin, replica: RigReplica) {
    this.origin = origin;
    this.replica = replica;
  }

  static async open(through?: (target: WriteBackTarget) => WriteBackTarget): Promise<Desk> {
    const origin = new WritingOrigin(await WriteBackRig.create(), through);
    return new Desk(origin, await RigReplica.start(RigReplica.emptyDisk()));
  }

  get rig(): WriteBackRig {
    return this.origin.rig;
  }

  connect(options: TalkOptions = {}): Talk {
    return (this.going = writingTalk(this.clock, this.origin, this, options));
  }

  /** Waits until all entries have their answers. */
  async settle(ms = 20_000): Promise<void> {
    const isDone = (): boolean => this.journal.settledTo >= this.journal.head;
    assert.ok(await this.clock.run(this.clock.now + ms, isDone), "some entries have no answer");
  }

  /** The answers, as `accepted` or why not. */
  get outcomes(): readonly string[] {
    return this.journal.entries.map(({ localSeq }) => {
      const answer = this.journal.answers.get(localSeq);
      return answer === undefined ? "none" : "reason" in answer ? answer.reason : "accepted";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.going?.link.cut();
    await this.clock.run(this.clock.now + 100);
    await this.origin[Symbol.asyncDispose]();
  }
}

const KIB = 1024;

/** A text of so many bytes that differs from that of every other `of`. */
function textOf(bytes: number, of: string): string {
  return `${of} `.repeat(bytes / (of.length + 1) + 1).slice(0, bytes);
}

describe("what a replica writes", () => {
  it("becomes the origin's, with contents inline, fetched whole, and in chunks; and comes back as events", async () => {
    await using desk = await Desk.open();
    const sizes = [0, 10, 4 * KIB - 1, 4 * KIB, 300 * KIB, 5 * KIB * KIB];
    const texts = sizes.map((size) => textOf(size, `content ${size}`));
    texts.forEach((text, i) => desk.journal.write(`dir/f${i}`, text));
    desk.connect();
    await desk.settle();
    expect(desk.outcomes).toEqual(sizes.map(() => "accepted"));
    const files = await desk.rig.files();
    texts.forEach((text, i) => expect(files[`dir/f${i}`] === text, `f${i}`).toBe(true));
    const { seq } = await desk.rig.context.index.head();
    expect(await desk.clock.run(desk.clock.now + 5_000, () => desk.replica.upstream.head.seq === seq)).toBe(true);
    expect(desk.replica.bytes).toContain('"replica":{"id":"r1","local_seq":');
  });

  it("does not block the origin's event loop while a large content is put together there", async () => {
    await using desk = await Desk.open();
    const turns: number[] = [];
    let seen = 0;
    const turn = (): NodeJS.Immediate => setImmediate(() => ((seen += 1), (next = turn())));
    let next = turn();
    const { blobs } = desk.rig.context;
    const batch = blobs.batch.bind(blobs);
    // The last batch is that of the whole.
    blobs.batch = async () => {
      const one = await batch();
      const put = one.putStream.bind(one);
      one.putStream = async (pieces) => {
        const before = seen;
        const done = await put(pieces);
        turns.push(seen - before);
        return done;
      };
      return one;
    };
    desk.journal.write("large", textOf(12 * KIB * KIB, "large"));
    desk.connect();
    await desk.settle();
    clearImmediate(next);
    expect(desk.outcomes).toEqual(["accepted"]);
    expect(turns.at(-1)).toBeGreaterThanOrEqual(5);
  });

  it("is taken over one connection, although it needs more than one batch", async () => {
    await using desk = await Desk.open();
    desk.connect();
    for (let i = 0; i < 1_203; i += 1) desk.journal.write(`d${i % 7}/f${i}`, `text ${i}`);
    await desk.settle();
    desk.journal.write("last", "one more");
    await desk.settle();
    expect(new Set(desk.outcomes)).toEqual(new Set(["accepted"]));
    const files = await desk.rig.files();
    expect([Object.keys(files).length, files["d3/f1200"], files["last"]]).toEqual([1_204 + 7, "text 1200", "one more"]);
  });

  it("is answered, if it is stale, with the present event and with the hash of the kept content", async () => {
    await using desk = await Desk.open();
    const seen = await desk.rig.write("a", "one");
    desk.connect();
    await desk.clock.run(1_000, () => desk.replica.upstream.head.seq >= seen);
    const now = await desk.rig.write("a", "the host's");
    const { localSeq } = desk.journal.write("a", "the replica's", seen);
    await desk.settle();
    const kept = { contentHash: sha256("the replica's") };
    expect(desk.journal.answers.get(localSeq)).toEqual({ localSeq, reason: "stale", currentSequence: now, kept });
  });

  it("is refused without being fetched if it may not be written", async () => {
    await using desk = await Desk.open((target) => ({
      ...delegate(target),
      refusal: ({ path }) => (path.endsWith(".log") ? "filtered" : undefined),
    }));
    desk.journal.write("a.log", textOf(100 * KIB, "noise"));
    desk.journal.write("C:\\x", "what Windows reads as absolute");
    desk.journal.write("b", "b");
    desk.connect();
    await desk.settle();
    // The path that no peer takes is not even sent; the target's word is not the engine's.
    expect(desk.outcomes).toEqual(["content-missing", "path", "accepted"]);
    expect(desk.journal.opened).toEqual([sha256("b")]);
  });

  it("is refused as read-only if the origin takes nothing from replicas", async () => {
    await using desk = await Desk.open();
    desk.journal.write("a", "a");
    const { writeBack: _, ...readOnly } = desk.origin.options;
    desk.connect({ origin: { ...readOnly, writeBack: undefined as never } });
    await desk.settle();
    expect(desk.outcomes).toEqual(["read-only"]);
  });

  it.each([
    ["READ_ONLY", ["read-only"]],
    ["FORBIDDEN", ["read-only"]],
  ] as const)("fails with %s in the workspace, and is refused as read-only", async (code, outcomes) => {
    await using desk = await Desk.open((target) => ({ ...delegate(target), decide: failing(code, Infinity, target) }));
    desk.journal.write("a", "a");
    desk.connect();
    await desk.settle();
    expect(desk.outcomes).toEqual(outcomes);
  });

  it.each([
    ["somebody is at work there", "LOCKED"],
    ["the folder is away", "NOT_FOUND"],
  ] as const)("is sent again after a while if the origin cannot take it now: %s", async (_, code) => {
    await using desk = await Desk.open((target) => ({ ...delegate(target), decide: failing(code, 3, target) }));
    desk.journal.write("a", "a");
    desk.connect();
    await desk.settle();
    expect([desk.outcomes, desk.clock.now >= 3_000]).toEqual([["accepted"], true]);
  });

  it("is decided once, however long that takes", async () => {
    let decided = 0;
    const { promise: slow, resolve } = Promise.withResolvers<undefined>();
    await using desk = await Desk.open((target) => ({
      ...delegate(target),
      decide: async (batch) => {
        decided += 1;
        await slow;
        return target.decide(batch);
      },
    }));
    desk.journal.write("a", "a");
    desk.connect();
    await desk.clock.run(3_000);
    expect([decided, desk.outcomes]).toEqual([1, ["none"]]);
    resolve(undefined);
    await desk.settle();
    expect([decided, desk.outcomes, await desk.rig.iterations("a")]).toMatchObject([1, ["accepted"], [{}]]);
  });

  it("is refused if its content is gone, and other entries are taken", async () => {
    await using desk = await Desk.open();
    const { entry } = desk.journal.write("gone", textOf(8 * KIB, "gone"));
    desk.journal.write("b", "b");
    if (entry?.hash !== undefined) desk.journal.contents.delete(entry.hash);
    desk.connect();
    await desk.settle();
    expect(desk.outcomes).toEqual(["content-missing", "accepted"]);
  });

  it("is refused if its content is only in the origin's store, because the store holds it for others", async () => {
    await using desk = await Desk.open();
    const secret = textOf(9 * KIB, "somebody else's");
    await desk.rig.keep(Buffer.from(secret));
    const { entry } = desk.journal.write("mine", secret);
    if (entry?.hash !== undefined) desk.journal.contents.delete(entry.hash);
    desk.connect();
    await desk.settle();
    expect([desk.outcomes, await desk.rig.files()]).toEqual([["content-missing"], {}]);
  });
});

describe("a conversation that breaks", () => {
  it("continues in the next one: each entry is done once, and answers that were lost come again", async () => {
    await using desk = await Desk.open();
    for (let i = 0; i < 40; i += 1) desk.journal.write(`f${i % 5}`, textOf((i % 4) * 3 * KIB, `${i}`));
    for (let n = 0; desk.journal.settledTo < desk.journal.head; n += 1) {
      expect(n).toBeLessThan(200);
      const going = desk.connect();
      // Each conversation lives a little longer than the one before.
      desk.clock.after(n * 2, () => going.link.cut());
      await desk.clock.run(desk.clock.now + 1_000, () => desk.journal.settledTo === desk.journal.head);
      going.link.cut();
      await desk.clock.run(desk.clock.now + 50);
    }
    await checkDone(desk);
  });

  it("a replica that has forgotten its answers gets the last ones again, and sends nothing twice", async () => {
    await using desk = await Desk.open();
    const { localSeq } = desk.journal.write("a", "a");
    desk.connect();
    await desk.settle();
    desk.going?.link.cut();
    await desk.clock.run(desk.clock.now + 50);
    desk.journal.forget();
    desk.journal.opened.length = 0;
    desk.connect();
    expect(await desk.clock.run(desk.clock.now + 2_000, () => desk.journal.answers.has(localSeq))).toBe(true);
    expect([desk.outcomes, desk.journal.settledTo, desk.journal.opened]).toEqual([["accepted"], localSeq, []]);
  });

  it("a replica whose history was put back is told, and writes nothing", async () => {
    await using desk = await Desk.open();
    for (const path of ["a", "b", "c"]) desk.journal.write(path, path);
    desk.connect();
    await desk.settle();
    desk.going?.link.cut();
    await desk.clock.run(desk.clock.now + 50);
    const earlier = new MemoryJournal();
    earlier.write("other", "written after it was put back");
    const going = writingTalk(desk.clock, desk.origin, { replica: desk.replica, journal: earlier });
    let end: Awaited<Talk["ends"]>[1] | undefined;
    void going.ends.then(([, replica]) => (end = replica));
    await desk.clock.run(desk.clock.now + 2_000, () => end !== undefined);
    expect(end?.error?.code).toBe("ROLLBACK_DETECTED");
    expect(Object.keys(await desk.rig.files())).toEqual(["a", "b", "c"]);
  });
});

it("a replica that is too far behind, and has to reconcile, can write on the state that it had before", async () => {
  await using desk = await Desk.open();
  const seen = await desk.rig.write("a", "one");
  await desk.rig.write("b", "two");
  const { seq, hash } = await desk.rig.context.index.head();
  for (let i = 0; i < 5; i += 1) await desk.rig.write("c", `${i}`);
  const link = memoryChannels({ later: desk.clock.later });
  const session = new OriginSession(link.a, { ...desk.origin.options, timers: desk.clock, maxBehind: 3 });
  void session.run();
  const heard: Message[] = [];
  void (async () => {
    for await (const message of link.b.receive()) heard.push(message);
  })();
  const head = { sequence: seq, hash };
  await link.b.send({ type: "Hello", versions: [2], capabilities: [], sandbox_id: "r1", settled_local_seq: 0, head });
  await desk.clock.run(desk.clock.now + 500, () => heard.some(({ type }) => type === "FullResyncRequired"));
  await link.b.send(batchOf({ master_rowid_seen: seen }));
  await desk.clock.run(desk.clock.now + 500, () => heard.some(({ type }) => type === "WriteBackResult"));
  expect(heard.at(-1)).toMatchObject({ type: "WriteBackResult", accepted: [{ local_seq: 1, master_iteration: 2 }] });
  link.b.close();
  await desk.clock.run(desk.clock.now + 50);
});

describe("a hostile replica", () => {
  it("that does not send the contents of what it writes is disconnected", async () => {
    await using desk = await Desk.open();
    desk.journal.write("large", textOf(9 * KIB, "never sent"));
    const { promise: never } = Promise.withResolvers<undefined>();
    desk.journal.open = () => never;
    const going = desk.connect();
    let ended: string | undefined;
    void going.ends.then(([origin]) => (ended = origin.error?.message));
    await desk.clock.run(desk.clock.now + 20_000, () => ended !== undefined);
    expect(ended).toBe("the replica does not send the contents of what it writes");
  });

  it.each<[string, (desk: Desk) => Promise<void>, string]>([
    ["writes in another's name", async (desk) => send(desk, { sandbox_id: "other" }), "USAGE"],
    [
      "sends another content than it says",
      async (desk) => send(desk, { content_hash: sha256("x") }),
      "INTEGRITY_VIOLATION",
    ],
    ["leaves the workspace", async (desk) => send(desk, { filepath: "../x" }), "PATH_INVALID"],
  ])("%s: the conversation ends, and nothing is written", async (_, act, code) => {
    await using desk = await Desk.open();
    const going = desk.connect();
    await desk.clock.run(desk.clock.now + 500, () => going.origin.replica !== undefined);
    let ended: string | undefined;
    void going.ends.then(([origin]) => (ended = origin.error?.code ?? "in peace"));
    await act(desk).catch((error: unknown) => {
      // This end of the channel does not even send such a path.
      if (error instanceof ChronicleError) ended = error.code;
    });
    await desk.clock.run(desk.clock.now + 2_000, () => ended !== undefined);
    expect([ended, await desk.rig.files()]).toEqual([code, {}]);
  });
});

interface Changed {
  readonly sandbox_id?: string;
  readonly content_hash?: Hash;
  readonly filepath?: string;
  readonly master_rowid_seen?: number;
}

/** Sends a batch of one entry with these changes. */
function send(desk: Desk, changed: Changed): Promise<void> {
  return desk.going?.link.b.send(batchOf(changed)) ?? Promise.reject(new Error("it is not connected"));
}

function batchOf({ sandbox_id = "r1", ...changed }: Changed): MessageOf<"WriteBack"> {
  const content = Buffer.from("content");
  const state = { filepath: "a", kind: "file", content_hash: sha256(content), size: content.length } as const;
  const entry = {
    local_seq: 1,
    ...state,
    permissions: 0o644,
    is_deletion: false,
    inline_content: content,
    mtime_ms: 1,
    master_rowid_seen: 0,
    actor: "agent",
    ...changed,
  };
  return { type: "WriteBack", sandbox_id, entries: [entry] };
}

function delegate(target: WriteBackTarget): WriteBackTarget {
  return {
    settled: (replica) => target.settled(replica),
    reserve: (bytes) => target.reserve(bytes),
    refusal: (entry) => target.refusal(entry),
    decide: (batch) => target.decide(batch),
  };
}

/** Fails the first few times. */
function failing(
  code: "READ_ONLY" | "FORBIDDEN" | "LOCKED" | "NOT_FOUND",
  times: number,
  target: WriteBackTarget,
): WriteBackTarget["decide"] {
  let left = times;
  return async (batch) => {
    left -= 1;
    if (left >= 0) throw new ChronicleError(code, "not now");
    return target.decide(batch);
  };
}

/** Checks that every entry has become one iteration. */
async function checkDone(desk: Desk): Promise<void> {
  const done: number[] = [];
  for (const { record } of await desk.rig.events("file:")) {
    done.push(Number((record["replica"] as { local_seq?: number } | undefined)?.local_seq));
  }
  expect(done.sort((a, b) => a - b)).toEqual(desk.journal.entries.map(({ localSeq }) => localSeq));
}
