import { describe, expect, it } from "vitest";
import { openReplica, type ReplicaHold } from "../../src/compose/file-sync-places.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { type BaseRecord, encodeRecordRows } from "../../src/core/log/base.ts";
import { encodeErase } from "../../src/core/records/erase-record.ts";
import { EMPTY_HASH, sha256 } from "../../src/core/values/hash.ts";
import { folderHash } from "../../src/core/tree/merkle.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../../src/core/filter/filter.ts";
import { encodeWorkspace } from "../../src/core/records/workspace-record.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { Channel } from "../../src/replication/channel.ts";
import { memoryChannels } from "../../src/replication/channels/memory-wire.ts";
import { MAX_PIECE_BYTES } from "../../src/replication/protocol/limits.ts";
import { checkMessage, type Message, type MessageOf } from "../../src/replication/protocol/messages.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const TS = "2026-01-31T09:30:00.000Z";
const HASH = sha256("of some event");
const CONTENT = Buffer.from("content\n");
const RECORD = encodeWorkspace({
  format: 2,
  created: TS,
  roots: [{ id: null, folder: "", filter: EVERYTHING, limits: DEFAULT_LIMITS }],
  device: "0",
  inode: "0",
});

type Child = MessageOf<"TreeResponse">["folders"][number]["children"][number];

const FILE: Child = {
  name: "a.txt",
  kind: "file",
  permissions: 0o644,
  size: CONTENT.length,
  mtime_ms: 5,
  hash: sha256(CONTENT),
  sequence: 2,
  iteration: 1,
};
const ROOT_HASH = folderHash([{ name: "a.txt", kind: "file", mode: 0o644, hash: sha256(CONTENT) }]);
const ANCHOR = { event_hash: HASH, root: ROOT_HASH, frontier: [HASH], record: RECORD, sequence: 1, ts: TS };
const GOAL: Message = { type: "FullResyncRequired", reason: "too-far", current_sequence: 4, anchor: ANCHOR };

/** An origin that sends the answers that a test gives it. */
class Liar {
  readonly #channel: Channel;
  readonly #answers: (message: Message) => readonly Message[];
  readonly #capabilities: string[];

  constructor(channel: Channel, answers: (message: Message) => readonly Message[], capabilities: string[]) {
    this.#channel = channel;
    this.#answers = answers;
    this.#capabilities = capabilities;
  }

  async run(): Promise<void> {
    for await (const message of this.#channel.receive()) {
      if (message.type === "Hello") {
        await this.#channel.send({
          type: "HelloAck",
          version: 2,
          capabilities: this.#capabilities,
          workspace: ID,
          head: { sequence: 4, hash: HASH },
          settled_local_seq: 0,
          heartbeat_ms: 1_000,
        });
      }
      for (const answer of this.#answers(message)) await this.#channel.send(answer);
    }
  }
}

/** A new replica follows such an origin. Returns how the conversation ended, and what the replica then holds. */
async function follow(
  answers: (message: Message) => readonly Message[],
  after: (hold: ReplicaHold) => Promise<void> = async () => undefined,
  capabilities = ["tree"],
) {
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 }, "/config": { folder: 0o700 } });
  const store = await openSimStore(disk, { firstId: 1 });
  const { workspace } = await store.create();
  const hold = await openReplica(partsOf(store), workspace.id);
  const link = memoryChannels();
  const liar = new Liar(link.a, answers, capabilities).run().catch(() => undefined);
  const session = new ReplicaSession(link.b, { ...hold.options, sandboxId: "r1" });
  const running = session.run();
  // Either the conversation ends, or the replica has reached the origin's state.
  const got = session.reaches(4).then(
    () => link.b.close(),
    () => undefined,
  );
  const end = await running;
  await Promise.all([liar, got]);
  const { head, start } = hold.mirror;
  await after(hold);
  await hold[Symbol.asyncDispose]();
  return { end, head, start };
}

const listing = (children: readonly Child[], more = {}): Message => ({
  type: "TreeResponse",
  sequence: 4,
  folders: [{ filepath: "", hash: ROOT_HASH, touched: true, children: [...children], more: false, ...more }],
});

/** An origin that answers each question about folders with `answer`. */
function treeOf(answer: Message, goal: Message = GOAL) {
  return (message: Message): readonly Message[] => {
    if (message.type === "Hello") return [goal];
    if (message.type === "TreeRequest") return [answer];
    if (message.type !== "ContentFetchRequest") return [];
    const { content_hash } = message;
    return [{ type: "ContentFetchResponse", content_hash, content: CONTENT, size: CONTENT.length, offset: 0 }];
  };
}

describe("a full reconciliation with an origin that lies", () => {
  it("succeeds with one that does not lie", async () => {
    const { end, head, start } = await follow(treeOf(listing([FILE])), async ({ mirror, context }) => {
      expect((await mirror.iterationAt("a.txt" as never, 4))?.entry?.hash).toBe(sha256(CONTENT));
      expect(await context.blobs.get(sha256(CONTENT))).toEqual(CONTENT);
    });
    expect(end.error).toBeUndefined();
    expect({ head, start }).toEqual({ head: { seq: 4, hash: HASH }, start: 4 });
  });

  const lies: readonly (readonly [what: string, answers: (message: Message) => readonly Message[], code: string])[] = [
    ["lists something else than its root", treeOf(listing([{ ...FILE, permissions: 0o600 }])), "INTEGRITY_VIOLATION"],
    ["lists nothing", treeOf(listing([])), "INTEGRITY_VIOLATION"],
    ["lists more", treeOf(listing([FILE, { ...FILE, name: "b.txt" }])), "INTEGRITY_VIOLATION"],
    ["lists its names in another order", treeOf(listing([{ ...FILE, name: "b.txt" }, FILE])), "INTEGRITY_VIOLATION"],
    ["a link with a file's mode", treeOf(listing([{ ...FILE, kind: "symlink" }])), "INTEGRITY_VIOLATION"],
    [
      "a content that is another one",
      (message) =>
        message.type === "ContentFetchRequest"
          ? [{ ...message, type: "ContentFetchResponse", content: Buffer.from("other"), size: 5, offset: 0 }]
          : treeOf(listing([FILE]))(message),
      "INTEGRITY_VIOLATION",
    ],
    ["a record that is none", treeOf(listing([FILE]), { ...GOAL, anchor: { ...ANCHOR, record: {} } }), "LOG_DAMAGED"],
    [
      "a log tree that is none",
      treeOf(listing([FILE]), { ...GOAL, anchor: { ...ANCHOR, frontier: [HASH, HASH, HASH] } }),
      "INTEGRITY_VIOLATION",
    ],
  ];
  it.each(lies)("%s: the connection ends, and nothing of it is kept", async (_, answers, code) => {
    const { end, head, start } = await follow(answers);
    expect(end.error?.code).toBe(code);
    expect({ head, start }).toEqual({ head: { seq: 0, hash: "" }, start: 0 });
  });

  it("ignores folders that the replica has not asked for", async () => {
    const unasked = listing([{ ...FILE, name: "z.txt" }], { filepath: "nobody/asked", hash: EMPTY_HASH });
    const { end, head } = await follow((message) => {
      const answers = treeOf(listing([FILE]))(message);
      return message.type === "TreeRequest" ? [unasked, ...answers, unasked] : answers;
    });
    expect(end.error).toBeUndefined();
    expect(head.seq).toBe(4);
  });
});

const PIECE = Buffer.alloc(MAX_PIECE_BYTES);
const ERASURE: BaseRecord = {
  recordId: "erase:e1",
  seq: 3,
  ts: TS,
  op: "upsert",
  record: encodeErase({
    ...{ state: "erased", contents: [HASH], asked: { path: "old.txt" }, reason: undefined },
    ...{ actor: "human", at: TS, until: TS },
  }),
};

/** An origin that has these rows of erasures. */
function erasing(rows: Buffer) {
  return (message: Message): readonly Message[] => {
    if (message.type !== "ErasuresRequest") return treeOf(listing([FILE]))(message);
    const { sequence, offset } = message;
    const piece = rows.subarray(offset, offset + MAX_PIECE_BYTES);
    return [{ type: "ErasuresResponse", sequence, offset, total: rows.length, rows: piece }];
  };
}

describe("the erasures in a full reconciliation", () => {
  const both = ["tree", "erasures"];

  it.each([1, 80_000])("are held with all contents that they name: %i", async (count) => {
    const contents = Array.from({ length: count }, (_, i) => sha256(`content ${i}`)).sort();
    const rows = encodeRecordRows([{ ...ERASURE, record: { ...ERASURE.record, contents } }]);
    const { end, head } = await follow(
      erasing(rows),
      async ({ mirror }) => {
        const [only, ...others] = await mirror.erasures();
        expect([only?.recordId, only?.seq, only?.contents.length, others]).toEqual(["erase:e1", 3, count, []]);
        expect(await mirror.lastErasure()).toBe(3);
      },
      both,
    );
    expect([end.error, head.seq]).toEqual([undefined, 4]);
  });

  it("may be none", async () => {
    const { end, head } = await follow(
      erasing(Buffer.alloc(0)),
      async ({ mirror }) => expect(await mirror.erasures()).toEqual([]),
      both,
    );
    expect([end.error, head.seq]).toEqual([undefined, 4]);
  });

  const other = (more: Partial<BaseRecord>): Buffer => encodeRecordRows([{ ...ERASURE, ...more }]);
  const whole = encodeRecordRows([ERASURE]);
  const lies: readonly (readonly [what: string, answers: ReturnType<typeof erasing>, code: string])[] = [
    ["another record", erasing(other({ recordId: "snapshot:s1" })), "INTEGRITY_VIOLATION"],
    ["the own record of the workspace", erasing(other({ recordId: `workspace:${ID}` })), "INTEGRITY_VIOLATION"],
    ["an event behind the state", erasing(other({ seq: 5 })), "INTEGRITY_VIOLATION"],
    ["the event of the workspace's record", erasing(other({ seq: 1 })), "INTEGRITY_VIOLATION"],
    ["a record that is none", erasing(other({ record: {} })), "LOG_DAMAGED"],
    ["one twice", erasing(Buffer.concat([whole, other({ seq: 4 })])), "INTEGRITY_VIOLATION"],
    [
      "them in another order",
      erasing(Buffer.concat([whole, other({ recordId: "erase:e2", seq: 2 })])),
      "INTEGRITY_VIOLATION",
    ],
    ["bytes that are no rows", erasing(Buffer.from("nonsense")), "INTEGRITY_VIOLATION"],
    ["a row that is cut off", erasing(whole.subarray(0, -1)), "INTEGRITY_VIOLATION"],
    [
      "another length each time",
      (message) =>
        message.type === "ErasuresRequest"
          ? [{ ...message, type: "ErasuresResponse", total: 3 * MAX_PIECE_BYTES + message.offset, rows: PIECE }]
          : treeOf(listing([FILE]))(message),
      "INTEGRITY_VIOLATION",
    ],
  ];
  it.each(lies)("%s among them: the connection ends, and nothing is kept", async (_, answers, code) => {
    const { end, head, start } = await follow(answers, async () => undefined, both);
    expect(end.error?.code).toBe(code);
    expect({ head, start }).toEqual({ head: { seq: 0, hash: "" }, start: 0 });
  });

  it.each([
    ["more than 64 MiB", { total: 64 * 1024 ** 2 + 1, rows: Buffer.alloc(1) }],
    ["a piece that is not in them", { total: 1, rows: Buffer.alloc(2) }],
    ["a piece behind them", { offset: 2, total: 1, rows: Buffer.alloc(0) }],
    ["a piece that could be longer", { total: 3, rows: Buffer.alloc(2) }],
    ["nothing, though there is more", { total: 1, rows: Buffer.alloc(0) }],
  ])("a response of %s is refused", (_, more) => {
    const message = { type: "ErasuresResponse", sequence: 4, offset: 0, ...more };
    expect(() => checkMessage(message)).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});
