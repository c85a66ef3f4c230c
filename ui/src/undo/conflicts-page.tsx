import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { ResolveShape } from "../../../src/api/action-shapes.ts";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import { useConflicts } from "../data/queries.ts";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { ConflictList } from "./conflict-list.tsx";
import { Conflict, type Settling } from "./conflict-view.tsx";
import "./undo.css";

/**
 * The time, in milliseconds, for which the buttons are disabled after a conflict was settled. The buttons of the next
 * conflict appear in the same place.
 */
const REST_MS = 700;

/** Shows the open conflicts: the paths at which an undo or a sync did not merge with later work. */
export function ConflictsPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { conflict: chosen } = useSearch({ from: "/w/$workspace/conflicts" });
  const navigate = useNavigate({ from: "/w/$workspace/conflicts" });
  const [last, setLast] = useState<Last>();
  const [isResting, setResting] = useState(false);
  const { data: read, error, fetchNextPage, hasNextPage, isFetching } = useConflicts(workspace);
  const data = useMemo(() => read?.pages.flat(), [read]);
  const current = chosen === undefined ? data?.[0] : data?.find(({ id }) => id === chosen);
  const isSought = data !== undefined && current === undefined && hasNextPage && error === null;
  useEffect(() => {
    if (isSought && !isFetching) void fetchNextPage();
  }, [isSought, isFetching, fetchNextPage]);
  const choose = (conflict: ConflictShape | undefined): void =>
    void navigate({ replace: true, search: conflict === undefined ? {} : { conflict: conflict.id } });
  if (data === undefined && error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading />;
  const wayBack =
    last === undefined ? null : (
      <Settled
        key={last.result.conflict.id}
        workspace={workspace}
        last={last}
        onBack={() => setLast({ ...last, isBack: true })}
      />
    );
  if (data.length === 0) return <NoConflicts>{wayBack}</NoConflicts>;
  const settling: Settling = {
    isResting,
    onDone: (result) => {
      setLast({ result, isBack: false });
      setResting(true);
      const at = data.findIndex(({ id }) => id === result.conflict.id);
      choose(data[at + 1] ?? data[at - 1]);
    },
    onRenewed: () => setTimeout(() => setResting(false), REST_MS),
  };
  return (
    <div className="conflicts">
      <div className="conflict-side">
        {wayBack}
        <ConflictList conflicts={data} current={current} onChosen={choose} onEnd={() => void fetchNextPage()} />
      </div>
      {current !== undefined ? (
        <Conflict key={current.id} workspace={workspace} conflict={current} settling={settling} />
      ) : isSought ? (
        <Loading />
      ) : error === null ? (
        <NotOpen />
      ) : (
        <Problem error={error} />
      )}
    </div>
  );
}

/**
 * Shown if the address names a conflict that is not open. No other conflict is shown instead, because its buttons would
 * settle that conflict.
 */
function NotOpen() {
  return (
    <Empty title="This conflict is not open">
      <p className="quiet">It may have been settled meanwhile. Choose another one from the list.</p>
    </Empty>
  );
}

function NoConflicts({ children }: { readonly children: ReactNode }) {
  return (
    <Empty title="No open conflicts">
      <p className="quiet">
        If an undo or a sync does not merge with other edits, the lines that conflict stay as they are, and are listed
        here.
      </p>
      {children}
    </Empty>
  );
}

/**
 * The conflict that was settled last. The page keeps whether this was taken back, because the conflict is then open
 * again, and the answer moves from the empty page to the place above the list.
 */
interface Last {
  readonly result: ResolveShape;
  readonly isBack: boolean;
}

interface SettledProps {
  readonly workspace: string;
  readonly last: Last;
  readonly onBack: () => void;
}

/** Shows which conflict was settled last, with a button that undoes this if a file was changed. */
function Settled({ workspace, last: { result, isBack }, onBack }: SettledProps) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const { undo_id: operation, conflict } = result;
  const back = useMutation({
    mutationFn: (id: string) => on.undo({ operation: id }),
    onSuccess: onBack,
    onSettled: () => renewWorkspace(queries, workspace),
  });
  if (back.error !== null) return <Problem error={back.error} />;
  return (
    <div className="note settled" role="status">
      <p>
        {isBack ? "As it was before: " : "Settled: "}
        <PathText path={conflict.path} />
      </p>
      {operation === null || isBack ? null : (
        <button type="button" className="button" disabled={back.isPending} onClick={() => back.mutate(operation)}>
          Take that back
        </button>
      )}
    </div>
  );
}
