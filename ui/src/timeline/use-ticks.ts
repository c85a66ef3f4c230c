import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { type Ticks, ticksKey, TickStore } from "./tick-store.ts";

/**
 * The number of ticks that the first request reads. This number is small, so that the lanes appear soon. `PIECE`: the
 * number of ticks that each further request reads.
 */
const FIRST = 2_000;
const PIECE = 20_000;
/**
 * The number of ticks from which on no older ticks are read, to limit the memory of the page. The list still shows the
 * older work.
 */
const MOST = 400_000;

function ticksQuery(on: WorkspaceApi, known: () => Ticks | undefined) {
  return queryOptions({
    queryKey: ticksKey(on.id),
    queryFn: async (): Promise<Ticks> => ({ store: await continued(on, known()?.store) }),
    structuralSharing: false,
    gcTime: 60_000,
  });
}

/** Reads the new ticks into the store. If the store is empty, reads the newest ticks. */
async function continued(on: WorkspaceApi, known?: TickStore): Promise<TickStore> {
  const store = known === undefined || known.isOutdated ? new TickStore() : known;
  if (store.head === 0) {
    const newest = await on.ticks({ limit: FIRST, reverse: true });
    store.add(newest);
    store.hasOlder = newest.more;
    store.head = newest.head;
    return store;
  }
  for (;;) {
    const after = store.head;
    const piece = await on.ticks({ after, limit: PIECE });
    // The history was put back to an earlier state, or was replaced by another history.
    if (piece.head < after) return continued(on);
    store.add(piece);
    // Ticks that came with the events may have moved the head on meanwhile.
    store.head = Math.max(store.head, piece.more ? piece.last.reduce((sum, one) => sum + one, 0) : piece.head);
    if (!piece.more) return store;
  }
}

/**
 * Returns the ticks of a workspace. The newest ticks are read first, and then the older ticks piece by piece. New ticks
 * are added as events arrive.
 */
export function useTicks(workspace: string): Ticks | undefined {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const key = ticksKey(workspace);
  const { data } = useQuery(ticksQuery(on, () => queries.getQueryData<Ticks>(key)));
  const store = data?.store;
  const { size = 0, oldest } = store ?? {};
  const isWanted = store?.hasOlder === true && size < MOST;
  useEffect(() => {
    if (store === undefined || !isWanted) return undefined;
    let isOver = false;
    void on.ticks({ before: store.oldest, limit: PIECE, reverse: true }).then(
      (piece) => {
        if (isOver || queries.getQueryData<Ticks>(key)?.store !== store) return;
        store.add(piece);
        store.hasOlder = piece.more;
        queries.setQueryData<Ticks>(key, { store });
      },
      // After an error, the next event causes a read of new ticks, and the answer to it starts this effect again.
      () => undefined,
    );
    return () => {
      isOver = true;
    };
    // `on` and `key` are made anew in each render, and always name the workspace. An older
    // piece asks for the next one. So does an event, in case that a request failed.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [workspace, queries, store, isWanted, oldest, size]);
  return data;
}
