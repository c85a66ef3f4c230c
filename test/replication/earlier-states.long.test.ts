import { expect, it } from "vitest";
import type { ReplicaNode } from "../../src/testing/sync-nodes.ts";
import { filesOf } from "./folder-tree.ts";
import { EVENTS, SimulatedPair } from "./simulated-pair.ts";

/** Origins and replicas that were put back to an earlier state, as seeds of the simulation have met them. */

/** More changes of a disk than an origin makes for one change of a replica. */
const MOST_CHANGES = 200;
/** The most times that a person settles the same conflict. */
const MOST_SETTLED = 2;
/** The time for some twenty-five pairs of machines, one after the other. */
const SWEEP_MS = 600_000;

it("a replica that has applied nothing yet rejoins an origin that was put back, and brings back what it holds", async () => {
  using both = new SimulatedPair();
  const { origin, replica } = both;
  await both.during(origin.start());
  const image = origin.machine.copy("keep");
  await both.put("lost");
  // The replica loses power once it holds the origin's events, before it has written anything of its own.
  replica.machine.plan(({ reads, path }) =>
    !reads && path.endsWith("/events.wal") && !path.includes("/upstream/") && holdsSomething(replica)
      ? "stop-before"
      : "go",
  );
  await both.during(replica.start());
  await both.pass(1_000);
  expect(replica.machine.disk.stopped).toBe(true);
  await both.restart(origin, { image });
  await both.restart(replica);
  await both.pass();
  expect(replica.sync.record).toMatchObject({ origin: "", applied: 0, halted: { reason: "diverged" } });
  await both.during(replica.beginAnew("rejoin"));
  await both.pass();
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  expect([both.here(), await both.there()]).toEqual([["lost"], ["lost"]]);
});

it("a conflict between a file and a folder that the replica never had does not prevent a rejoin", async () => {
  using both = new SimulatedPair();
  const { origin, replica } = both;
  both.write("mine", "mine");
  await both.during(origin.start());
  await both.put("base");
  await both.during(replica.start());
  await both.pass();
  const image = origin.machine.copy("keep");
  await both.during(replica.sync.pause());
  await both.put("d/lost");
  both.write("d", "a file");
  await both.during(replica.sync.resume());
  await both.pass();
  expect(replica.sync.shape).toMatchObject({ conflicts: 1 });
  await both.restart(origin, { image });
  await both.pass();
  expect(replica.sync.shape).toMatchObject({ state: "halted", halted: "diverged" });
  // What the replica brings back may be in conflict once more. It is then settled for good.
  for (let times = 0; !(await both.rejoins()) && times < MOST_SETTLED; times += 1)
    expect(await both.settleAll()).toEqual(["d"]);
  await both.pass();
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  const files = ["base", "d", "mine"];
  expect([both.here(), await both.there()]).toEqual([files, files]);
});

it(
  "a change stays if the origin loses power while it takes it, and the replica is put back to before the change",
  async () => {
    const halts: (string | undefined)[] = [];
    for (let changes = 0; changes < MOST_CHANGES; changes += 1) {
      const { isStopped, halted } = await putBackWhileTaken(changes);
      if (!isStopped) break;
      halts.push(halted);
    }
    // If the power goes early, the origin has nothing of the change, and the sync does not halt. Later, it halts.
    const firstHalt = halts.indexOf("forked");
    expect(firstHalt).toBeGreaterThan(0);
    expect(new Set(halts.slice(0, firstHalt))).toEqual(new Set([undefined]));
    expect(new Set(halts.slice(firstHalt))).toEqual(new Set(["forked"]));
  },
  SWEEP_MS,
);

it("a replica that has no event in common with its origin rejoins as if it joined, and no file is lost", async () => {
  using both = new SimulatedPair();
  const { origin, replica } = both;
  await both.during(origin.start());
  for (const path of ["both", "changed-there", "deleted-here", "deleted-there", "same"]) await both.put(path, "base");
  const image = origin.machine.copy("keep");
  await both.during(replica.start());
  await both.pass();
  // The replica starts anew behind what the origin has compacted away, and gives up the events that it held before.
  await both.during(replica.sync.pause());
  await both.put("both", "lost there");
  await both.put("lost");
  await both.during(origin.workspace.compact({ dropArchive: true }));
  await both.during(replica.sync.resume());
  await both.pass();
  expect(both.here()).toContain("lost");
  expect(replica.hold.mirror.start).toBeGreaterThan(0);
  both.write("mine", "mine");
  both.write("deleted-here", undefined);
  await both.pass();
  await both.restart(origin, { image });
  await both.put("changed-there", "changed there");
  await both.put("new-there");
  await both.during(origin.workspace.deleteFile("deleted-there"));
  await both.pass();
  expect(replica.sync.shape).toMatchObject({ state: "halted", halted: "diverged" });
  expect(await both.rejoins()).toBe(true);
  await both.pass();
  expect(replica.hold.mirror.start).toBe(0);
  const same = { "deleted-here": "base", "deleted-there": "base", lost: "lost", mine: "mine", same: "base" };
  const here = { ...same, "new-there": "new-there", both: "lost there", "changed-there": "base" };
  expect(Object.fromEntries(filesOf(replica.machine.disk))).toEqual(here);
  expect(await both.there()).toEqual(Object.keys(here).sort());
  // Nobody can say who has changed these: both sides stay until somebody decides.
  const conflicts = await both.during(replica.sync.conflicts());
  expect(conflicts.map(({ record }) => record.path)).toEqual(["both", "changed-there"]);
  expect(await both.settleAll()).toEqual(["both", "changed-there"]);
  await both.pass();
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
});

function holdsSomething(replica: ReplicaNode): boolean {
  return replica.isUp && replica.hold.mirror.head.seq > 0;
}

/**
 * The origin loses power after this number of changes of its disk, while it takes a change of the replica. The replica
 * is then put back to before its change.
 */
async function putBackWhileTaken(changes: number): Promise<{ isStopped: boolean; halted: string | undefined }> {
  using both = new SimulatedPair({ isHosted: false });
  const { origin, replica } = both;
  both.write("base", "base");
  await both.during(origin.start());
  await both.during(replica.start());
  await both.pass(3_000);
  const image = replica.machine.copy("keep");
  both.lost = [...EVENTS, "WriteBackResult"];
  let left = changes;
  origin.machine.plan(({ reads }) => (reads || left-- > 0 ? "go" : "stop-before"));
  both.write("kept", "kept");
  await both.pass(1_500);
  const isStopped = origin.machine.disk.stopped;
  both.lost = [];
  origin.machine.plan(undefined);
  await both.restart(replica, { image });
  if (isStopped) await both.restart(origin);
  await both.during(origin.workspace.snapshot());
  const taken = [...filesOf(origin.machine.disk).keys()].sort();
  await both.pass();
  const { halted } = replica.sync.shape;
  if (halted === "forked") await both.during(replica.beginAnew("as-new"));
  await both.pass();
  expect([...filesOf(origin.machine.disk).keys()].sort(), `after ${changes} changes`).toEqual(taken);
  expect(both.here(), `after ${changes} changes`).toEqual(taken);
  return { isStopped, halted };
}
