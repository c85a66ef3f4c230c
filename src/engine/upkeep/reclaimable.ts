import { decodeBase } from "../../core/log/base.ts";
import { readEventFast } from "../../core/log/chain.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { KeptStates } from "../../core/tree/kept-states.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { HistoryNeeds } from "../log/history-needs.ts";
import { baseOf } from "../log/project.ts";
import { pruningInForce } from "../facts/pruning.ts";

/**
 * Counts the contents (and bytes) that this history needs now and would not need after a pruning. Reads the whole log.
 */
export async function reclaimableContents(
  context: Context,
  after: KeptStates,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const now = new Map<Hash, number>();
  const then = new Set<Hash>();
  const erasures = await erasuresInForce(context);
  const pruning = await pruningInForce(context);
  const needs = [
    new HistoryNeeds({ pruning, erasures }, ({ hash, size }) => now.set(hash, size ?? 0)),
    new HistoryNeeds({ pruning: after, erasures }, ({ hash }) => then.add(hash)),
  ];
  for await (const lines of context.log.read({ seq: 1, offset: 0 })) {
    for (const { bytes } of lines) {
      const event = readEventFast(bytes);
      for (const one of needs) one.event(event, "");
      const base = baseOf(event);
      const reader = base === undefined ? undefined : await context.blobs.open(base);
      if (reader === undefined) continue;
      for await (const batch of decodeBase(reader.pieces())) for (const one of needs) one.rows(batch, event, "");
    }
  }
  for (const one of needs) one.finish();
  const lost = [...now].filter(([hash]) => !then.has(hash));
  return { count: lost.length, bytes: lost.reduce((sum, [, size]) => sum + size, 0) };
}
