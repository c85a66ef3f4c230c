import { describe, expect, it } from "vitest";
import { openReplica } from "../../compose/file-sync-places.ts";
import { partsOf } from "../../compose/open-parts.ts";
import { sealEvents } from "../../core/log/chain.ts";
import { EMPTY_HEAD, type SealedEvent } from "../../core/values/event.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../../core/filter/filter.ts";
import { EMPTY_HASH } from "../../core/values/hash.ts";
import { encodeWorkspace } from "../../core/records/workspace-record.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import { RigReplica } from "../../testing/push-rig.ts";
import { fileEvent, userEvent } from "../../testing/protocol-samples.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { Channel, ChannelEnd } from "../channel.ts";
import { memoryChannels } from "../channels/memory-wire.ts";
import { eventsOf, notificationOf, renameOf } from "../protocol/event-messages.ts";
import type { Message } from "../protocol/messages.ts";
import { ReplicaSession } from "./replica-session.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const TS = "2026-01-31T09:30:00.000Z";

/** Admits a new replica, as an origin with this head would. */
async function welcome(origin: Channel, head: { readonly seq: number; readonly hash: string }): Promise<void> {
  await origin.send({
    type: "HelloAck",
    version: 2,
    capabilities: ["rename", "tree"],
    workspace: ID,
    head: { sequence: head.seq, hash: head.hash as SealedEvent["hash"] },
    settled_local_seq: 0,
    heartbeat_ms: 1_000,
  });
}

async function send(origin: Channel, ...events: SealedEvent[]): Promise<void> {
  for (const message of eventsOf(events)) await origin.send(message);
}

/** Reads all messages, and ignores them. */
async function listen(channel: Channel): Promise<void> {
  for await (const _message of channel.receive());
}

/** A channel whose receiver is busy with each message for a while. */
function slowToReceive(channel: Channel, busy: () => Promise<void>): Channel {
  return {
    send: (message) => channel.send(message),
    receive: async function* () {
      for await (const message of channel.receive()) {
        yield message;
        await busy();
      }
    },
    close: (reason) => channel.close(reason),
    ended: channel.ended,
    get arrived() {
      return channel.arrived;
    },
    get pendingBytes() {
      return channel.pendingBytes;
    },
  };
}

/** Waits for this many turns of the microtask queue. */
async function hops(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await Promise.resolve();
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("a replica's session", () => {
  it("stores events that come just as it finishes the events before", async () => {
    const first = userEvent(EMPTY_HEAD, 10);
    const second = userEvent(first, 10);
    const left: number[] = [];
    for (let late = 0; late < 60; late += 1) {
      const { a: origin, b: own } = memoryChannels();
      const replica = await RigReplica.start(RigReplica.emptyDisk());
      const onEvents = async ([event]: readonly SealedEvent[]): Promise<void> => {
        if (event?.seq === 1) void hops(late).then(() => send(origin, second));
      };
      const session = new ReplicaSession(own, replica.options(new VirtualClock(), { onEvents }));
      const running = session.run();
      void listen(origin);
      await welcome(origin, second);
      await send(origin, first);
      await turns(20);
      if (replica.upstream.head.seq !== 2) left.push(late);
      own.close();
      await running;
    }
    expect(left).toEqual([]);
  });

  it("does not take the origin for gone while it is busy with the origin's messages", async () => {
    const { a: origin, b: own } = memoryChannels();
    const clock = new VirtualClock();
    const replica = await RigReplica.start(RigReplica.emptyDisk());
    const session = new ReplicaSession(
      slowToReceive(own, () => clock.wait(10_000)),
      replica.options(clock),
    );
    const running = session.run();
    // The connection ends with an error, which is checked below.
    listen(origin).catch(() => undefined);
    await welcome(origin, EMPTY_HEAD);
    for (let beat = 1; beat <= 8; beat += 1) {
      await clock.run(beat * 1_000);
      await origin.send({ type: "Heartbeat", agent_sequence: 0, agent_iteration: 0 });
    }
    // The session has received one message. From here on, no message comes.
    let end: ChannelEnd | undefined;
    void running.then((one) => (end = one));
    await clock.run(10_000);
    expect(end).toBeUndefined();
    await clock.run(20_000);
    expect(end).toMatchObject({ by: "us", error: { code: "UNAVAILABLE" } });
  });

  it("announces renames, and stores a rename as a deletion and a creation, without asking for the content", async () => {
    const made = fileEvent(EMPTY_HEAD, "a", "content");
    const gone = fileEvent(made, "a", undefined);
    const again = fileEvent(gone, "b", "content");
    const { a: origin, b: own } = memoryChannels();
    const replica = await RigReplica.start(RigReplica.emptyDisk());
    const session = new ReplicaSession(own, replica.options(new VirtualClock()));
    const running = session.run();
    const said: Message[] = [];
    const listening = (async () => {
      for await (const message of origin.receive()) said.push(message);
    })();
    await welcome(origin, again);
    const [first, rename] = [notificationOf(made, Buffer.from("content")), renameOf(gone, again)];
    if (first === undefined || rename === undefined) throw new Error("no message was made");
    await origin.send(first);
    await turns(20);
    await origin.send(rename);
    await turns(20);
    expect(replica.upstream.head).toEqual({ seq: again.seq, hash: again.hash });
    expect(said.map(({ type }) => type)).toEqual(["Hello", "Ack", "Ack"]);
    expect(said[0]).toMatchObject({ capabilities: expect.arrayContaining(["rename"]) });
    expect(said[2]).toEqual({ type: "Ack", up_to_sequence: 3 });
    own.close();
    await Promise.all([running, listening]);
  });

  it("ends only after the end of a reconciliation that began while it stored events", async () => {
    const root = { id: null, folder: "", filter: EVERYTHING, limits: DEFAULT_LIMITS };
    const record = encodeWorkspace({ format: 2, created: TS, roots: [root], device: "0", inode: "0" });
    const [first] = sealEvents(EMPTY_HEAD, [{ op: "upsert", recordId: `workspace:${ID}`, record }], TS);
    if (first === undefined) throw new Error("no event was made");
    const store = await openSimStore(SimDisk.fromTree({ "/store": { folder: 0o700 }, "/config": { folder: 0o700 } }), {
      firstId: 1,
    });
    const { workspace } = await store.create();
    const hold = await openReplica(partsOf(store), workspace.id);
    const [stored, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const told: string[] = [];
    const { mirror } = hold;
    const slow = new Proxy(mirror, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (key !== "touched") return typeof member === "function" ? (member.bind(target) as unknown) : member;
        return async (after: number, upTo: number) => {
          told.push("begun");
          await begun.promise;
          told.push("done");
          return target.touched(after, upTo);
        };
      },
    });
    const { a: origin, b: own } = memoryChannels();
    void listen(origin);
    const onEvents = (): Promise<void> => stored.promise;
    const session = new ReplicaSession(own, {
      ...hold.options,
      mirror: slow,
      upstream: slow,
      sandboxId: "r1",
      onEvents,
    });
    const running = session.run().then(() => told.push("over"));
    await welcome(origin, { seq: 4, hash: first.hash });
    await send(origin, first);
    const anchor = { event_hash: first.hash, root: EMPTY_HASH, frontier: [first.hash], record, sequence: 1, ts: TS };
    await turns(5);
    await origin.send({ type: "FullResyncRequired", reason: "too-far", current_sequence: 4, anchor });
    await turns(5);
    stored.resolve();
    await turns(5);
    own.close();
    await turns(5);
    begun.resolve();
    await running;
    expect(told).toEqual(["begun", "done", "over"]);
    await hold[Symbol.asyncDispose]();
  });
});
