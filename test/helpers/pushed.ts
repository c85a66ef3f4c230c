import { openReplica, type ReplicaHold } from "../../src/compose/file-sync-places.ts";
import { Origins } from "../../src/compose/origins.ts";
import type { StoreParts } from "../../src/compose/open-context.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { memoryWires } from "../../src/replication/channels/memory-wire.ts";
import { OriginSession, type OriginOptions } from "../../src/replication/origin/origin-session.ts";
import { ReplicaSession, type ReplicaOptions } from "../../src/replication/replica/replica-session.ts";
import type { ChannelEnd } from "../../src/replication/channel.ts";

/** A workspace in a store (`here`), and a replica of it in another store (`there`). */
export interface Ends {
  readonly here: StoreParts;
  readonly id: string;
  readonly there: StoreParts;
  readonly replica: string;
  /** Options that replace those of the origin. A function gets the origin's own options. */
  readonly origin?: Partial<OriginOptions> | ((own: OriginOptions) => Partial<OriginOptions>);
  readonly options?: Partial<ReplicaOptions>;
}

/** The traffic of one conversation. */
export interface Talked {
  readonly ends: readonly [origin: ChannelEnd, replica: ChannelEnd];
  /** The number of bytes of all frames in both directions. */
  readonly bytes: number;
}

/** Lets a replica follow until it has everything, and then ends the connection. `during` is called before the end. */
export async function pushAll(ends: Ends, during?: (hold: ReplicaHold) => Promise<void>): Promise<Talked> {
  await using origins = new Origins(ends.here);
  const hold = await openReplica(ends.there, ends.replica);
  try {
    using lease = await origins.lease(ends.id);
    let bytes = 0;
    const wires = memoryWires({
      deliver: (frame) => {
        bytes += frame.bytes.length;
        return [{ afterMs: 0 }];
      },
    });
    const a = new FramedChannel(wires.a);
    const b = new FramedChannel(wires.b);
    const session = new ReplicaSession(b, { ...hold.options, sandboxId: ends.replica, ...ends.options });
    const origin = typeof ends.origin === "function" ? ends.origin(lease.options) : ends.origin;
    const running = Promise.all([new OriginSession(a, { ...lease.options, ...origin }).run(), session.run()]);
    await session.barrier();
    await during?.(hold);
    b.close();
    return { ends: await running, bytes };
  } finally {
    await hold[Symbol.asyncDispose]();
  }
}
