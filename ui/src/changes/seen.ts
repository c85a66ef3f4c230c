import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { MarkChanges, MarkShape, MarksShape } from "../../../src/api/store-api.ts";
import { useApi } from "../data/api.ts";
import type { FileChange } from "./net-changes.ts";

/** The changes that this person has marked as looked at. */
export interface Seen {
  readonly has: (change: FileChange) => boolean;
  readonly toggle: (change: FileChange) => void;
  /** The reason why marks could not be read or kept. */
  readonly problem: string | undefined;
}

/**
 * The marks of this person in a workspace. The server keeps them beside the history. A mark is about the contents, so a
 * file that changes again is no longer marked.
 */
export function useSeen(workspace: string): Seen {
  const { store } = useApi().client;
  const queries = useQueryClient();
  const queryKey = ["marks", workspace];
  const { data, error } = useQuery({ queryKey, queryFn: () => store.marks(workspace), select: keysOf });
  const { mutate, error: refused } = useMutation({
    mutationFn: (changes: MarkChanges) => store.mark(workspace, changes),
    // The requests are sent one after another, so that the server gets them in the order in which the keys were
    // pressed.
    scope: { id: `marks ${workspace}` },
    onMutate: async (changes) => {
      await queries.cancelQueries({ queryKey });
      queries.setQueryData<MarksShape>(queryKey, (kept) => ({ marks: changed(kept?.marks ?? [], changes) }));
    },
    onSettled: () => queries.isMutating({ mutationKey: queryKey }) <= 1 && queries.invalidateQueries({ queryKey }),
    mutationKey: queryKey,
  });
  const has = (change: FileChange): boolean => data?.keys.has(keyOf(markOf(change))) === true;
  return {
    has,
    toggle: (change) => mutate({ [has(change) ? "remove" : "add"]: [markOf(change)] }),
    problem: refused?.message ?? error?.message ?? data?.problem,
  };
}

/** Returns the mark for a change. */
function markOf({ path, before, after, permissions }: FileChange): MarkShape {
  const own = permissions === undefined ? {} : { after_permissions: permissions.after };
  return { path, before_hash: before, after_hash: after, ...own };
}

function keysOf({ marks, problem }: MarksShape): { readonly keys: ReadonlySet<string>; readonly problem?: string } {
  return { keys: new Set(marks.map(keyOf)), ...(problem === undefined ? {} : { problem }) };
}

function keyOf(mark: MarkShape): string {
  return JSON.stringify([mark.path, mark.before_hash, mark.after_hash, mark.after_permissions]);
}

function changed(marks: readonly MarkShape[], { add = [], remove = [] }: MarkChanges): MarkShape[] {
  const gone = new Set(remove.map(keyOf));
  return [...marks.filter((mark) => !gone.has(keyOf(mark))), ...add];
}
