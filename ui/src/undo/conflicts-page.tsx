import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { useText } from "../data/queries.ts";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { digits, size } from "../parts/words.ts";
import "./undo.css";

const MergeEditor = lazy(async () => ({ default: (await import("./merge-editor.tsx")).MergeEditor }));

/** The number of conflicts that are listed. */
const MOST = 200;

/** The open conflicts: paths at which an undo, or a sync, did not merge with later work. */
export function ConflictsPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const on = useWorkspaceApi(workspace);
  const [chosen, setChosen] = useState<string>();
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "conflicts", "open"],
    queryFn: () => on.conflicts(),
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading />;
  if (data.length === 0)
    return (
      <Empty title="No open conflicts">
        <p className="quiet">
          If an undo does not merge with later edits, the path stays as it is, and is listed here.
        </p>
      </Empty>
    );
  const current = data.find(({ id }) => id === chosen) ?? data[0];
  return (
    <div className="conflicts">
      <nav className="conflict-list" aria-label="Open conflicts">
        <ul>
          {data.slice(0, MOST).map(({ id, path, reason, timestamp }) => (
            <li key={id}>
              <button
                type="button"
                className="conflict-line"
                aria-current={id === current?.id}
                onClick={() => setChosen(id)}
              >
                <PathText path={path} />
                <span className="quiet">
                  {reason} · <Ago at={timestamp} />
                </span>
              </button>
            </li>
          ))}
        </ul>
        {data.length > MOST ? <p className="quiet">and {digits(data.length - MOST)} more</p> : null}
      </nav>
      {current === undefined ? null : <Conflict key={current.id} workspace={workspace} conflict={current} />}
    </div>
  );
}

function Conflict({ workspace, conflict }: { readonly workspace: string; readonly conflict: ConflictShape }) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const mayChange = useMayChange();
  const settle = useMutation({
    mutationFn: (options: Parameters<typeof on.resolve>[1]) => on.resolve(conflict.id, options),
    onSettled: () => queries.invalidateQueries({ queryKey: ["workspace", workspace] }),
  });
  const sideName = conflict.cause === "sync" ? "the origin's" : "the undo's";
  const settleBy = (keep: "current" | "undo") => () => settle.mutate({ keep });
  return (
    <section className="conflict" aria-label={`Conflict at ${conflict.path}`}>
      <header className="conflict-head">
        <h1>
          <PathText path={conflict.path} />
        </h1>
        {mayChange ? (
          <>
            <button type="button" className="button" disabled={settle.isPending} onClick={settleBy("current")}>
              Keep the current state
            </button>
            <button type="button" className="button" disabled={settle.isPending} onClick={settleBy("undo")}>
              Take {sideName} state
            </button>
          </>
        ) : null}
      </header>
      {settle.error === null ? null : <Problem error={settle.error} />}
      <ConflictContents
        workspace={workspace}
        conflict={conflict}
        sideName={sideName}
        onMerged={
          mayChange ? (text) => settle.mutate({ keep: "merged", content: new TextEncoder().encode(text) }) : undefined
        }
      />
    </section>
  );
}

interface ConflictContentsProps {
  readonly workspace: string;
  readonly conflict: ConflictShape;
  readonly sideName: string;
  readonly onMerged: ((text: string) => void) | undefined;
}

function ConflictContents({ workspace, conflict, sideName, onMerged }: ConflictContentsProps) {
  const { path, current_hash, current_size, undo_hash, undo_size, current_kind, undo_kind } = conflict;
  const current = useText(workspace, current_hash, current_size);
  const undo = useText(workspace, undo_hash, undo_size);
  const error = current.error ?? undo.error;
  if (error !== null) return <Problem error={error} />;
  if (current_kind === null || undo_kind === null)
    return (
      <p className="note">
        {current_kind === null
          ? "The path does not exist now."
          : `Now it is a ${current_kind} of ${size(current_size)}.`}{" "}
        {undo_kind === null ? "The other side removes it." : `The other side is a ${undo_kind} of ${size(undo_size)}.`}
      </p>
    );
  if (current.data === undefined || undo.data === undefined)
    return current.isLoading || undo.isLoading ? (
      <Loading />
    ) : (
      <p className="note quiet">The contents are too large to be merged here.</p>
    );
  if (current.data.isBinary || undo.data.isBinary)
    return <p className="note">A binary content does not merge. Keep one of the two states.</p>;
  return (
    <Suspense fallback={<Loading what="Opening the editor" />}>
      <MergeEditor
        path={path}
        current={current.data.text}
        undo={undo.data.text}
        undoName={sideName}
        onMerged={onMerged}
      />
    </Suspense>
  );
}
