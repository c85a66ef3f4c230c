import { expect, it } from "vitest";
import { EVENTS, SimulatedPair } from "./simulated-pair.ts";

/** Does the work, then puts the origin back to before it. Meanwhile the replica gets answers, but no events. */
async function forgetting(both: SimulatedPair, work: () => Promise<void>): Promise<void> {
  const image = both.origin.machine.copy("keep");
  both.lost = EVENTS;
  await work();
  both.lost = [];
  await both.restart(both.origin, { image });
  await both.pass();
}

it("a replica proposes again what its origin had taken, and has lost when it was put back", async () => {
  using both = new SimulatedPair();
  const { origin, replica } = both;
  for (const path of ["a", "c"]) both.write(path, path);
  void origin.start().then(() => replica.start());
  await both.pass(5_000);
  await forgetting(both, async () => {
    const { accepted } = replica.told;
    both.write("b", "b");
    both.write("a", undefined);
    await both.pass(300);
    expect(replica.told.accepted).toBe(accepted + 2);
  });
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", lag: 0, pending: 0 });
  expect(await both.there()).toEqual(["b", "c"]);
});

it("a replica that has got nothing yet does not wait for events that its origin has lost", async () => {
  using both = new SimulatedPair();
  const { origin, replica } = both;
  both.write("mine", "mine");
  void origin.start().then(() => origin.workspace.putFile("a", Buffer.from("a")));
  await both.pass(1_000);
  await forgetting(both, async () => {
    void origin.workspace.putFile("b", Buffer.from("b")).then(() => replica.start());
    await both.pass(1_000);
    expect(replica.sync.shape).toMatchObject({ state: "syncing", applied: 0 });
  });
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", lag: 0, pending: 0 });
  expect(await both.there()).toEqual(["a", "mine"]);
});
