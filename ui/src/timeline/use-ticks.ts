import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { type Ticks, ticksKey, TickStore } from "./tick-store.ts";

/** The number of ticks that are read first, so that the lanes are there soon, and with each further request. */
const FIRST = 2_000;
const PIECE = 20_000;
/** Older ticks are not read beyond this number, because of the memory of the page. The list still has them. */
const MOST = 400_000;

function ticksQuery(on: WorkspaceApi, known: () => Ticks | undefined) {
  return queryOptions({
    queryKey: ticksKey(on.id),
    queryFn: async (): Promise<Ticks> => ({ store: await continued(on, known()?.store) }),
    structuralSharing: false,
    gcTime: 60_000,
  });
}

/** Reads what is new. A store without anything begins with the newest ticks. */
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
    // The history was put back to an earlier state, or is another one.
    if (piece.head < after) return continued(on);
    store.add(piece);
    // Ticks that came with the events may have moved the head on meanwhile.
    store.head = Math.max(store.head, piece.more ? piece.last.reduce((sum, one) => sum + one, 0) : piece.head);
    if (!piece.more) return store;
  }
}

/** All ticks of a workspace: the newest first, then the older ones piece by piece. They follow the events. */
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
      // The next event reads what is new, and its answer begins this again.
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
