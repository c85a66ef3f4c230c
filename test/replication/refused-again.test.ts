import { expect, it } from "vitest";
import type { OriginLease } from "../../src/compose/origins.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { memoryWires } from "../../src/replication/channels/memory-wire.ts";
import type { WriteBackTarget } from "../../src/replication/origin/write-back-intake.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { OriginNode, ReplicaNode } from "../../src/testing/sync-nodes.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

it("an origin that keeps refusing a change as stale is asked again only after pauses", async () => {
  const clock = new VirtualClock();
  let asked = 0;
  const refusing = ({ options: { writeBack } }: OriginLease): WriteBackTarget => {
    if (writeBack === undefined) throw new Error("nothing is written back");
    const { target } = writeBack;
    return {
      settled: (replica) => target.settled(replica),
      reserve: (bytes) => target.reserve(bytes),
      refusal: (entry) => target.refusal(entry),
      decide: async ({ entries }) => {
        asked += 1;
        const stale = { reason: "stale", currentSequence: 0, kept: { contentHash: null } } as const;
        return { accepted: [], rejected: entries.map(({ localSeq }) => ({ localSeq, ...stale })) };
      },
    };
  };
  const origin = new OriginNode({ clock, isHosted: true, target: refusing });
  const connect = async () => {
    const wires = memoryWires({ later: clock.later });
    origin.serve(new FramedChannel(wires.a, { timers: clock }));
    return new FramedChannel(wires.b, { timers: clock });
  };
  const replica = new ReplicaNode({ clock, number: 2, connect, random: () => 0.5 });
  writeSim(replica.machine.disk, `${FOLDER}/a`, "mine");
  void origin.start().then(() => replica.start());
  await clock.run(10_000);
  expect(asked).toBeGreaterThan(5);
  expect(asked).toBeLessThan(30);
  replica.lose();
  origin.lose();
});

it("the deletion of a folder with a file that the origin excludes is refused once, named, and not reverted", async () => {
  const clock = new VirtualClock();
  const origin = new OriginNode({ clock, isHosted: false });
  writeSim(origin.machine.disk, `${FOLDER}/.gitignore`, "*.log\n");
  writeSim(origin.machine.disk, `${FOLDER}/d/a`, "a");
  const connect = async () => {
    const wires = memoryWires({ later: clock.later });
    origin.serve(new FramedChannel(wires.a, { timers: clock }));
    return new FramedChannel(wires.b, { timers: clock });
  };
  const replica = new ReplicaNode({ clock, number: 2, connect, random: () => 0.5 });
  void origin.start().then(() => replica.start());
  await clock.run(5_000);
  writeSim(origin.machine.disk, `${FOLDER}/d/x.log`, "kept");
  removeSim(replica.machine.disk, `${FOLDER}/d`);
  replica.hint(["d"]);
  await clock.run(20_000);
  expect(origin.machine.disk.content(`${FOLDER}/d/x.log`)?.toString()).toBe("kept");
  expect(replica.machine.disk.lstat(`${FOLDER}/d`)).toBeUndefined();
  expect(replica.told).toMatchObject({ rejected: 1, conflicts: 0 });
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", pending: 0, refused: [{ path: "d", reason: "path" }] });
  replica.lose();
  origin.lose();
});
