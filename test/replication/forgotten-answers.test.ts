import { expect, it } from "vitest";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { type LinkFrame, memoryWires } from "../../src/replication/channels/memory-wire.ts";
import { decodeFrame, decodeHeader } from "../../src/replication/protocol/frame.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { OriginNode, ReplicaNode } from "../../src/testing/sync-nodes.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** What an origin says of its history. Answers to what a replica writes are not among it. */
const EVENTS: readonly string[] = ["Notification", "Rename", "Events"];

/** An origin without a folder that is put back, and a replica that was told of answers, and of nothing else since then. */
class PutBackOrigin {
  readonly clock = new VirtualClock();
  readonly origin = new OriginNode({ clock: this.clock, isHosted: true });
  readonly replica: ReplicaNode;
  /** Do its events not arrive? */
  isSilent = false;
  #cut = (): void => undefined;

  constructor() {
    const { clock } = this;
    const connect = async (): Promise<FramedChannel> => {
      const wires = memoryWires({
        later: clock.later,
        deliver: (frame) => (this.#isLost(frame) ? [] : [{ afterMs: 1 }]),
      });
      this.#cut = () => wires.cut();
      this.origin.serve(new FramedChannel(wires.a, { timers: clock, isReliable: false }));
      return new FramedChannel(wires.b, { timers: clock, isReliable: false });
    };
    this.replica = new ReplicaNode({ clock, number: 2, connect, random: () => 0.5 });
  }

  write(path: string, text: string | undefined): void {
    const { disk } = this.replica.machine;
    if (text === undefined) removeSim(disk, `${FOLDER}/${path}`);
    else writeSim(disk, `${FOLDER}/${path}`, text);
    this.replica.hint([path]);
  }

  pass(ms: number): Promise<boolean> {
    return this.clock.run(this.clock.now + ms);
  }

  /** What is done meanwhile the origin forgets again; the replica is told nothing of its history. */
  async forgetting(work: () => Promise<void>): Promise<void> {
    const { machine } = this.origin;
    const image = machine.copy("keep");
    this.isSilent = true;
    await work();
    machine.switchOff();
    this.#cut();
    this.origin.lose();
    machine.putBack(image);
    this.isSilent = false;
    void this.origin.start();
    await this.pass(20_000);
  }

  async there(): Promise<string[]> {
    const { files } = await this.origin.workspace.files();
    return files.map(({ path }) => path);
  }

  close(): void {
    this.replica.lose();
    this.origin.lose();
  }

  #isLost({ from, bytes }: LinkFrame): boolean {
    if (!this.isSilent || from !== "a") return false;
    const frame = Buffer.from(bytes);
    const { type } = JSON.parse(decodeFrame(frame, decodeHeader(frame)).head.toString()) as { type?: string };
    return type !== undefined && EVENTS.includes(type);
  }
}

it("what an origin had taken, and has lost by being put back, is proposed again by whoever wrote it", async () => {
  const both = new PutBackOrigin();
  const { origin, replica } = both;
  for (const path of ["a", "c"]) both.write(path, path);
  void origin.start().then(() => replica.start());
  await both.pass(5_000);
  await both.forgetting(async () => {
    const { accepted } = replica.told;
    both.write("b", "b");
    both.write("a", undefined);
    await both.pass(300);
    expect(replica.told.accepted).toBe(accepted + 2);
  });
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", lag: 0, pending: 0 });
  expect(await both.there()).toEqual(["b", "c"]);
  both.close();
});

it("a replica that has got nothing yet does not wait for what an origin has no more", async () => {
  const both = new PutBackOrigin();
  const { origin, replica } = both;
  both.write("mine", "mine");
  void origin.start().then(() => origin.workspace.putFile("a", Buffer.from("a")));
  await both.pass(1_000);
  await both.forgetting(async () => {
    void origin.workspace.putFile("b", Buffer.from("b")).then(() => replica.start());
    await both.pass(1_000);
    expect(replica.sync.shape).toMatchObject({ state: "syncing", applied: 0 });
  });
  expect(replica.sync.shape).toMatchObject({ state: "in-sync", lag: 0, pending: 0 });
  expect(await both.there()).toEqual(["a", "mine"]);
  both.close();
});
