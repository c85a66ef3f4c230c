import { describe, expect, it } from "vitest";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import { sealCommit } from "../../src/testing/seal-commit.ts";
import { encodeHead, generateKey, signHead } from "../../src/core/log/signed-head.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { NODE_TIMERS } from "../../src/util/timers.ts";
import { fileEvent } from "../../src/testing/protocol-samples.ts";
import { RigOrigin, RigReplica } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { EMPTY_HEAD } from "../../src/core/values/event.ts";
import { HostilePeer } from "../helpers/hostile-peer.ts";

/** A capability that not both sides have named is not used, and its messages are refused. */

const HASH = sha256("content");
const HELLO = { type: "Hello", versions: [2], sandbox_id: "other", head: { sequence: 0, hash: "" } };
const ACK = { type: "HelloAck", version: 2, workspace: "w1", settled_local_seq: 0, heartbeat_ms: 1_000 };
const WITNESS = { type: "HeadWitness", workspace: "w1", sequence: 1, head_hash: HASH, root: HASH };

/** A write-back with a time to the nanosecond. */
const FINE = {
  ...{ local_seq: 1, filepath: "a", kind: "absent", content_hash: null, size: 0, permissions: 0, is_deletion: true },
  ...{ mtime_ms: 0, mtime_ns: 1, master_rowid_seen: 0, actor: "human" },
};

/** Returns a signed head. */
function signedHead(hash: Hash): string {
  const content = { workspace: "w1", seq: 1, hash, logRoot: HASH, root: HASH };
  return signHead(encodeHead(content), generateKey().privateKeyPem, "origin");
}

async function greeted(capabilities: readonly string[], origin = new RigOrigin()): Promise<HostilePeer> {
  const peer = await HostilePeer.connect();
  await origin.write("a", "one");
  const head = origin.head.hash as Hash;
  const more = { timers: NODE_TIMERS, signedHead: async () => signedHead(head) };
  const options = origin.options(new VirtualClock(), more);
  void new OriginSession(peer.channel, options).run();
  peer.say({ ...HELLO, capabilities, settled_local_seq: 0 });
  await peer.next("HelloAck");
  return peer;
}

async function welcomed(capabilities: readonly string[]) {
  const peer = await HostilePeer.connect();
  const replica = await RigReplica.start(RigReplica.emptyDisk());
  const options = replica.options(new VirtualClock(), { timers: NODE_TIMERS, workspace: "w1" });
  const ended = new ReplicaSession(peer.channel, options).run();
  await peer.next("Hello");
  const { seq: sequence, hash } = fileEvent(EMPTY_HEAD, "a", "content");
  peer.say({ ...ACK, capabilities, head: { sequence, hash } });
  return { peer, ended };
}

describe("Truth 31: capabilities", () => {
  it.each([[[]], [["witness"]], [["tree", "witness", "no-such-thing"]]])(
    "an origin names the replica's capabilities that it knows, and no others (%j)",
    async (capabilities) => {
      using peer = await greeted(capabilities);
      const told = await peer.next("HelloAck");
      expect(told.capabilities.filter((one) => !capabilities.includes(one))).toEqual([]);
      expect(told.capabilities.includes("witness")).toBe(capabilities.includes("witness"));
      if (capabilities.includes("witness")) expect(await peer.next("HeadWitness")).toMatchObject({ sequence: 1 });
    },
  );

  it("a heartbeat names a path's iteration, not a number in another record", async () => {
    const origin = new RigOrigin();
    using peer = await greeted([], origin);
    await peer.next("Notification");
    const record = { iteration: -1 };
    const [event] = sealCommit(origin.head, [{ op: "upsert", recordId: "test:1", record }], "2030-01-01T00:00:00.000Z");
    if (event === undefined) throw new Error("no event was made");
    await origin.append(event);
    await peer.next("Events");
    expect(await peer.next("Heartbeat")).toMatchObject({ agent_sequence: 2, agent_iteration: 1 });
  });

  it("an origin sends no head to a replica that has not named `witness`", async () => {
    using peer = await greeted([]);
    await peer.next("Notification");
    peer.say({ type: "BarrierRequest", sequence: 1 });
    await peer.next("BarrierConfirmation");
    expect(peer.heard.map(({ type }) => type)).not.toContain("HeadWitness");
  });

  it.each([
    ["TreeRequest", { type: "TreeRequest", sequence: 1, since: 0, folders: [{ filepath: "" }] }, undefined],
    ["ErasuresRequest", { type: "ErasuresRequest", sequence: 1, offset: 0 }, undefined],
    ["BlocksRequest", { type: "BlocksRequest", hashes: 32 }, Buffer.alloc(32)],
    ["HeadWitness", WITNESS, undefined],
    ["mtime_ns", { type: "WriteBack", sandbox_id: "other", entries: [FINE] }, undefined],
  ])("an origin refuses %s of a replica that has not named it", async (_, message, body) => {
    using peer = await greeted([]);
    peer.say(message, body);
    expect(await peer.closed()).toMatchObject({ code: "USAGE" });
  });

  const resync = {
    ...{ type: "FullResyncRequired", reason: "compacted", current_sequence: 9 },
    anchor: { event_hash: HASH, root: HASH, frontier: [HASH], record: {}, sequence: 1, ts: "2030-01-01T00:00:00.000Z" },
  };
  const FOLDER = { filepath: "", hash: HASH, touched: false, children: [], more: false };
  const FINE_CHILD = {
    ...{ name: "a", kind: "file", permissions: 0o644, size: 7, mtime_ms: 1, mtime_ns: 1 },
    ...{ hash: HASH, sequence: 1, iteration: 1 },
  };
  it.each([
    ["HeadWitness", WITNESS, undefined],
    ["an anchor", resync, undefined],
    [
      "folder_away_since",
      { type: "Heartbeat", agent_sequence: 1, agent_iteration: 1, folder_away_since: 5 },
      undefined,
    ],
    ["TreeResponse", { type: "TreeResponse", sequence: 1, folders: [FOLDER] }, undefined],
    ["ErasuresResponse", { type: "ErasuresResponse", sequence: 1, offset: 0, total: 0, rows: 0 }, Buffer.alloc(0)],
    ["mtime_ns", { type: "TreeResponse", sequence: 1, folders: [{ ...FOLDER, children: [FINE_CHILD] }] }, undefined],
    ["BlocksResponse", { type: "BlocksResponse", blocks: 0, absent: [], apart: [] }, Buffer.alloc(0)],
    ["ContentAhead", { type: "ContentAhead", filepath: "a", content_hash: HASH, content: 7 }, Buffer.from("content")],
  ])("a replica refuses %s of an origin that has not named it", async (_, message, body) => {
    const { peer, ended } = await welcomed([]);
    using _peer = peer;
    peer.say(message, body);
    expect(await ended).toMatchObject({ by: "us", error: { code: "USAGE" } });
  });
});
