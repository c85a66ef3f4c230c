import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { percentile, type Row } from "./result.ts";

/** What one operation of the present process costs. */
export interface Cost {
  readonly ms: number;
  /** The processor time of all threads of the process. */
  readonly processorMs: number;
  /** The number of `fsync` and `fdatasync` of the main thread. */
  readonly syncs: number;
}

/** Resolves to what `work` costs. `syncs`: the counter of `countingSyncs`. */
export async function costOf(syncs: () => number, work: () => Promise<unknown>): Promise<Cost> {
  const [started, used, before] = [performance.now(), process.cpuUsage(), syncs()];
  await work();
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(used);
  return { ms, processorMs: (user + system) / 1_000, syncs: syncs() - before };
}

/** Returns rows that explain the time of an operation: its processor time, its syncs, and a sync of the disk alone. */
export function explained(costs: readonly Cost[], disk: readonly number[]): Row[] {
  const median = (values: readonly number[]) => [percentile(values, 0.5)];
  return [
    {
      what: "chronicle, p99",
      unit: "ms",
      samples: [
        percentile(
          costs.map(({ ms }) => ms),
          0.99,
        ),
      ],
    },
    { what: "chronicle, processor time, p50", unit: "ms", samples: median(costs.map((cost) => cost.processorMs)) },
    { what: "chronicle, syncs, p50", unit: "", samples: median(costs.map(({ syncs }) => syncs)) },
    { what: "an append and an fdatasync alone, p50", unit: "ms", samples: median(disk) },
  ];
}

/** Counts the syncs of the main thread while `work` runs, which gets the counter. In the end, `node:fs` is as before. */
export async function countingSyncs<T>(work: (syncs: () => number) => Promise<T>): Promise<T> {
  let counted = 0;
  const { fsync, fdatasync, fsyncSync, fdatasyncSync } = fs;
  const count = <Args extends readonly unknown[], Result>(call: (...args: Args) => Result) => {
    return (...args: Args): Result => {
      counted += 1;
      return call(...args);
    };
  };
  Object.assign(fs, {
    fsync: count(fsync),
    fdatasync: count(fdatasync),
    fsyncSync: count(fsyncSync),
    fdatasyncSync: count(fdatasyncSync),
  });
  syncBuiltinESMExports();
  try {
    return await work(() => counted);
  } finally {
    Object.assign(fs, { fsync, fdatasync, fsyncSync, fdatasyncSync });
    syncBuiltinESMExports();
  }
}
