import { expect, it } from "vitest";
import type { AnnouncedContent } from "../../src/core/records/announced-content.ts";
import { sha256, type Hash } from "../../src/core/values/hash.ts";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { RigOrigin, RigReplica, talk, type TalkOptions } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { Signal } from "../../src/util/signal.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { memoryWires } from "../../src/replication/channels/memory-wire.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import type { ReplicaOptions } from "../../src/replication/replica/replica-session.ts";

/** An idle conversation with an origin that announces contents before they are recorded. */
async function following(options: TalkOptions & { readonly wants?: ReplicaOptions["wants"] } = {}) {
  const [clock, origin] = [new VirtualClock(), new RigOrigin()];
  const replica = await RigReplica.start(RigReplica.emptyDisk());
  await origin.write("first", "first");
  const foreseen = new Signal<AnnouncedContent>();
  const { wants, ...rest } = options;
  const going = talk(clock, origin, replica, {
    ...rest,
    origin: { foreseen },
    replica: wants === undefined ? {} : { wants },
  });
  await clock.run(clock.now + 1_000, () => going.origin.acknowledged === 1);
  const announceContent = async (path: string, text: string, hash: Hash = sha256(text)): Promise<void> => {
    foreseen.emit({ path: path as WorkspacePath, hash, bytes: Buffer.from(text) });
    await clock.run(clock.now + 10);
  };
  const has = async (text: string): Promise<boolean> => (await replica.blobs.has([sha256(text)])).size === 1;
  return { clock, origin, replica, going, announceContent, has };
}

it("an announced content is in the replica before the event that names it", async () => {
  const { clock, origin, replica, going, announceContent, has } = await following();
  await announceContent("a", "soon");
  expect([await has("soon"), replica.upstream.head.seq]).toEqual([true, 1]);
  await origin.write("a", "soon");
  await clock.run(clock.now + 1_000, () => going.origin.acknowledged === 2);
  expect(replica.bytes).toBe(origin.bytes);
});

it("the event of an announced content may come while the content is stored, or never", async () => {
  const { clock, origin, replica, going, announceContent, has } = await following();
  const told = announceContent("a", "at once");
  await origin.write("a", "at once");
  await told;
  await announceContent("b", "never");
  await clock.run(clock.now + 1_000, () => going.origin.acknowledged === 2);
  expect([await has("at once"), await has("never"), replica.bytes === origin.bytes]).toEqual([true, true, true]);
});

it("an announced content that is not wanted, is too long, or has no valid path is not stored", async () => {
  const { clock, announceContent, has, going, origin } = await following({ wants: (path) => path !== "unwanted" });
  await announceContent("unwanted", "no");
  await announceContent("long", "x".repeat(4_096));
  await announceContent("C:\\x", "windows");
  expect([await has("no"), await has("x".repeat(4_096)), await has("windows")]).toEqual([false, false, false]);
  await origin.write("unwanted", "no");
  await clock.run(clock.now + 1_000, () => going.origin.acknowledged === 2);
  expect(await has("no")).toBe(false);
});

it("an announced content that does not have the hash that names it ends the conversation, and is not kept", async () => {
  const { clock, going, announceContent, has, replica } = await following();
  await announceContent("a", "a lie", sha256("the truth"));
  await clock.run(clock.now + 100);
  expect((await going.ends)[1]).toMatchObject({ by: "us", error: { code: "INTEGRITY_VIOLATION" } });
  expect([await has("a lie"), await has("the truth"), replica.upstream.head.seq]).toEqual([false, false, 1]);
});

it.each([
  ["knows announcements", ["ahead"], ["HelloAck", "ContentAhead"]],
  ["does not know announcements", [], ["HelloAck"]],
])("a replica that %s gets only the messages that it knows", async (_, capabilities, expected) => {
  const [clock, origin] = [new VirtualClock(), new RigOrigin()];
  const { a, b } = memoryWires({ later: clock.later });
  const foreseen = new Signal<AnnouncedContent>();
  void new OriginSession(new FramedChannel(a), origin.options(clock, { foreseen })).run();
  const replica = new FramedChannel(b);
  const got: string[] = [];
  void (async () => {
    for await (const { type } of replica.receive()) got.push(type);
  })();
  const head = { sequence: 0, hash: "" } as const;
  await replica.send({ type: "Hello", versions: [2], capabilities, sandbox_id: "r1", head, settled_local_seq: 0 });
  await clock.run(clock.now + 10);
  foreseen.emit({ path: "a" as WorkspacePath, hash: sha256("x"), bytes: Buffer.from("x") });
  await clock.run(clock.now + 10);
  expect(got).toEqual(expected);
});
