import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { encodeFrame } from "../../src/replication/protocol/frame.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { NODE_TIMERS } from "../../src/util/timers.ts";
import { RigOrigin, RigReplica } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { HostilePeer } from "../helpers/hostile-peer.ts";

/**
 * If the two ends of a connection speak different versions of the protocol, they refuse each other, and no data is sent
 * or taken.
 */

const OWN = 2;
const OTHERS = [1, 3];

const HELLO = { type: "Hello", capabilities: [], sandbox_id: "other", head: { sequence: 0, hash: "" } };
const ACK = { type: "HelloAck", capabilities: [], workspace: "w1", head: { sequence: 0, hash: "" } };

/** A whole frame of another version of the protocol. */
function frameOf(version: number, message: object): Buffer {
  const frame = encodeFrame({ head: Buffer.from(JSON.stringify(message)), body: undefined }, 0);
  frame[3] = version;
  frame.writeUInt32BE(crc32(frame.subarray(28), crc32(frame.subarray(0, 24))), 24);
  return frame;
}

/** Connects a peer of another version to an origin with one event; returns the error that the peer gets. */
async function toOrigin(talk: (peer: HostilePeer) => void) {
  using peer = await HostilePeer.connect();
  const origin = new RigOrigin();
  await origin.write("a", "one");
  const ended = new OriginSession(peer.channel, origin.options(new VirtualClock(), { timers: NODE_TIMERS })).run();
  talk(peer);
  const error = await peer.closed();
  await ended;
  expect(peer.heard.map(({ type }) => type).filter((type) => type !== "Error" && type !== "Credit")).toEqual([]);
  expect(origin.head.seq).toBe(1);
  return error;
}

/** Connects a replica that has nothing to a peer of another version; returns why it ended. */
async function toReplica(talk: (peer: HostilePeer) => void) {
  using peer = await HostilePeer.connect();
  const replica = await RigReplica.start(RigReplica.emptyDisk());
  const options = replica.options(new VirtualClock(), { timers: NODE_TIMERS, workspace: "w1" });
  const ended = new ReplicaSession(peer.channel, options).run();
  await peer.next("Hello");
  talk(peer);
  const { error } = await ended;
  expect(replica.upstream.head.seq).toBe(0);
  expect(replica.handedOn).toEqual([]);
  return error;
}

describe("Truth 14: programs of different versions at the two ends of a connection", () => {
  it.each(OTHERS)("a replica that speaks version %i only is refused by the origin", async (version) => {
    const hello = { ...HELLO, versions: [version], settled_local_seq: 0 };
    expect(await toOrigin((peer) => peer.say(hello))).toMatchObject({ code: "FORMAT_UNSUPPORTED" });
    expect(await toOrigin((peer) => peer.raw(frameOf(version, hello)))).toMatchObject({ code: "FORMAT_UNSUPPORTED" });
  });

  it("a replica that speaks this version among others is served", async () => {
    using peer = await HostilePeer.connect();
    const origin = new RigOrigin();
    void new OriginSession(peer.channel, origin.options(new VirtualClock(), { timers: NODE_TIMERS })).run();
    peer.say({ ...HELLO, versions: [...OTHERS, OWN], settled_local_seq: 0 });
    expect(await peer.next("HelloAck")).toMatchObject({ version: OWN });
  });

  it.each(OTHERS)("a replica refuses an origin of version %i, and takes nothing from it", async (version) => {
    const welcome = { ...ACK, version, settled_local_seq: 0, heartbeat_ms: 1_000 };
    expect(await toReplica((peer) => peer.say(welcome))).toMatchObject({ code: "FORMAT_UNSUPPORTED" });
    const told = await toReplica((peer) => peer.raw(frameOf(version, welcome)));
    expect(told).toMatchObject({ code: "FORMAT_UNSUPPORTED" });
    expect(told?.message).toContain(`version ${version}`);
  });
});
