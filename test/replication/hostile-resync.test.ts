import { describe, expect, it } from "vitest";
import { openReplica, type ReplicaHold } from "../../src/compose/open-replica.ts";
import { partsOf } from "../../src/compose/parts-of.ts";
import { EMPTY_HASH, sha256 } from "../../src/core/hash.ts";
import { folderHash } from "../../src/core/merkle.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../../src/core/filter.ts";
import { encodeWorkspace } from "../../src/core/workspace-record.ts";
import { SimDisk } from "../../src/disk/sim-disk.ts";
import type { Channel } from "../../src/replication/channel.ts";
import { memoryChannels } from "../../src/replication/channels/memory-wire.ts";
import type { Message, MessageOf } from "../../src/replication/protocol/messages.ts";
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

/** An origin that says whatever it is told to say. */
class Liar {
  readonly #channel: Channel;
  readonly #answers: (message: Message) => readonly Message[];

  constructor(channel: Channel, answers: (message: Message) => readonly Message[]) {
    this.#channel = channel;
    this.#answers = answers;
  }

  async run(): Promise<void> {
    for await (const message of this.#channel.receive()) {
      if (message.type === "Hello") {
        await this.#channel.send({
          type: "HelloAck",
          version: 2,
          capabilities: ["tree"],
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

/** A new replica talks to it; what came of that. */
async function follow(
  answers: (message: Message) => readonly Message[],
  after: (hold: ReplicaHold) => Promise<void> = async () => undefined,
) {
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 }, "/config": { folder: 0o700 } });
  const store = await openSimStore(disk, { firstId: 1 });
  const { workspace } = await store.create();
  const hold = await openReplica(partsOf(store), workspace.id);
  const link = memoryChannels();
  const liar = new Liar(link.a, answers).run().catch(() => undefined);
  const session = new ReplicaSession(link.b, { ...hold.options, sandboxId: "r1" });
  const running = session.run();
  // Either the conversation ends, or the replica has got there.
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

/** An origin whose folders are these. */
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
  it("with one that does not, it gets there", async () => {
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

  it("folders that nobody has asked for are not looked at", async () => {
    const unasked = listing([{ ...FILE, name: "z.txt" }], { filepath: "nobody/asked", hash: EMPTY_HASH });
    const { end, head } = await follow((message) => {
      const answers = treeOf(listing([FILE]))(message);
      return message.type === "TreeRequest" ? [unasked, ...answers, unasked] : answers;
    });
    expect(end.error).toBeUndefined();
    expect(head.seq).toBe(4);
  });
});
