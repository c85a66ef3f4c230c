import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import { useRecording } from "../data/queries.ts";
import { Problem } from "../parts/states.tsx";
import { counted } from "../parts/words.ts";

/** The time, in milliseconds, between two searches for edits that are not recorded. */
const LOOK_MS = 10_000;

/** Shows how many paths differ from their recorded state, if changes are not recorded as they happen. */
export function Unrecorded({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const mayChange = useMayChange();
  const { data: recording } = useRecording(workspace);
  const { data } = useQuery({
    queryKey: ["workspace", workspace, "unrecorded"],
    queryFn: () => on.recent(1, { unrecorded: true }),
    refetchInterval: LOOK_MS,
    // If everything is recorded as it happens, the search would find nothing, and would still cost time.
    enabled: recording !== undefined && recording.state !== "everything",
    retry: false,
  });
  const record = useMutation({
    mutationFn: () => on.snapshot(),
    onSettled: () => renewWorkspace(queries, workspace),
  });
  const unrecorded = recording?.state === "everything" ? 0 : (data?.unrecorded ?? 0);
  if (unrecorded === 0) return null;
  return (
    <div className="unrecorded">
      <span>
        {counted(unrecorded, "path")} {unrecorded === 1 ? "was" : "were"} changed since, and{" "}
        {unrecorded === 1 ? "is" : "are"} not recorded yet.
      </span>
      {mayChange ? (
        <button type="button" className="button" disabled={record.isPending} onClick={() => record.mutate()}>
          Record now
        </button>
      ) : null}
      {record.error === null ? null : <Problem error={record.error} />}
    </div>
  );
}
