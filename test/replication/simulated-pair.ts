import { ChronicleError } from "../../src/core/values/errors.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { type LinkFrame, memoryWires } from "../../src/replication/channels/memory-wire.ts";
import { decodeFrame, decodeHeader } from "../../src/replication/protocol/frame.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { OriginNode, ReplicaNode } from "../../src/testing/sync-nodes.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { filesOf } from "./folder-tree.ts";

/** What an origin says of its history. Answers to what a replica writes are not among it. */
export const EVENTS: readonly string[] = ["Notification", "Rename", "Events"];

/** Longer than anything takes that is still to come. In ms of the simulation. */
const LONG_MS = 10_000;

/** An origin and a replica of it, on machines that can be put back, and a network that leaves out what is asked for. */
export class SimulatedPair implements Disposable {
  readonly clock = new VirtualClock();
  readonly origin: OriginNode;
  readonly replica: ReplicaNode;
  /** Which of the origin's messages do not arrive. */
  lost: readonly string[] = [];
  #cut = (): void => undefined;

  /** `isHosted`: the origin has no folder. */
  constructor({ isHosted }: { readonly isHosted: boolean } = { isHosted: true }) {
    const { clock } = this;
    this.origin = new OriginNode({ clock, isHosted });
    const connect = async (): Promise<FramedChannel> => {
      const wires = memoryWires({
        later: clock.later,
        deliver: (frame) => (this.#isLost(frame) ? [] : [{ afterMs: 0 }]),
      });
      this.#cut = () => wires.cut();
      this.origin.serve(new FramedChannel(wires.a, { timers: clock, isReliable: false }));
      return new FramedChannel(wires.b, { timers: clock, isReliable: false });
    };
    this.replica = new ReplicaNode({ clock, number: 2, connect, random: () => 0.5 });
  }

  pass(ms = LONG_MS): Promise<boolean> {
    return this.clock.run(this.clock.now + ms);
  }

  /** Waits for something that needs the time of the simulation to go on. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): boolean => (isOver = true);
    work.then(over, over);
    if (!(await this.clock.run(this.clock.now + LONG_MS, () => isOver))) throw new Error("it does not come to an end");
    return work;
  }

  /** Somebody writes or removes a file in the replica's folder. */
  write(path: string, text: string | undefined): void {
    const { disk } = this.replica.machine;
    if (text === undefined) removeSim(disk, `${FOLDER}/${path}`);
    else writeSim(disk, `${FOLDER}/${path}`, text);
    this.replica.hint([path]);
  }

  /** Somebody writes a file at the origin. */
  async put(path: string, text = path): Promise<void> {
    await this.during(this.origin.workspace.putFile(path, Buffer.from(text)));
  }

  /** What the origin has. */
  async there(): Promise<string[]> {
    const { files } = await this.during(this.origin.workspace.files());
    return files.map(({ path }) => path);
  }

  /** The files in the replica's folder. */
  here(): string[] {
    return [...filesOf(this.replica.machine.disk).keys()].sort();
  }

  /** The power of a machine goes, and comes back; with an image it is put back to that before it comes back. */
  async restart(node: OriginNode | ReplicaNode, { image }: { readonly image?: SimDisk } = {}): Promise<void> {
    const { machine } = node;
    machine.switchOff();
    this.#cut();
    node.lose();
    if (image === undefined) machine.losePower("keep");
    else machine.putBack(image);
    await this.during(node.start());
  }

  /** Somebody keeps the replica's side of each conflict. Their paths. */
  async settleAll(): Promise<string[]> {
    const { sync } = this.replica;
    const paths = (await this.during(sync.conflicts())).map(({ record }) => record.path);
    for (const path of paths) await this.during(sync.resolve(path, { keep: "local" }));
    return paths;
  }

  /** The replica goes on with an origin that was put back. False: a conflict is to be settled first. */
  async rejoins(): Promise<boolean> {
    try {
      await this.during(this.replica.beginAnew("rejoin"));
      return true;
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "REFUSED") return false;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.replica.lose();
    this.origin.lose();
  }

  #isLost({ from, bytes }: LinkFrame): boolean {
    if (this.lost.length === 0 || from !== "a") return false;
    const frame = Buffer.from(bytes);
    const { type } = JSON.parse(decodeFrame(frame, decodeHeader(frame)).head.toString()) as { type?: string };
    return type !== undefined && this.lost.includes(type);
  }
}
