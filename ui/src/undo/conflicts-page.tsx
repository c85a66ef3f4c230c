import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import type { FileShape } from "../../../src/api/file-api.ts";
import { ChronicleError } from "../../../src/client/index.ts";
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
  const { shown, error, again } = useShown(workspace, conflict);
  const seen = shown === undefined ? {} : { seen: shown.hash };
  const merge = (text: string): void =>
    settle.mutate({ keep: "merged", content: new TextEncoder().encode(text), ...seen });
  return (
    <section className="conflict" aria-label={`Conflict at ${conflict.path}`}>
      <header className="conflict-head">
        <h1>
          <PathText path={conflict.path} />
        </h1>
        {mayChange ? (
          <>
            <button
              type="button"
              className="button"
              disabled={settle.isPending}
              onClick={() => settle.mutate({ keep: "current" })}
            >
              Keep the current state
            </button>
            <button
              type="button"
              className="button"
              disabled={settle.isPending || shown === undefined}
              onClick={() => settle.mutate({ keep: "undo", ...seen })}
            >
              Take {sideName} state
            </button>
          </>
        ) : null}
      </header>
      {settle.error === null ? null : <Problem error={settle.error} />}
      {error === null ? null : <Problem error={error} />}
      {again === undefined ? null : <ChangedSince onAgain={again} />}
      {shown === undefined ? null : (
        <ConflictContents
          workspace={workspace}
          conflict={conflict}
          present={shown}
          sideName={sideName}
          onMerged={mayChange ? merge : undefined}
        />
      )}
    </section>
  );
}

function ChangedSince({ onAgain }: { readonly onAgain: () => void }) {
  return (
    <div className="note" role="status">
      <p>This path has changed since it was opened here. What is below was not written.</p>
      <button type="button" className="button" onClick={onAgain}>
        Begin again with what is there now
      </button>
    </div>
  );
}

/** What is at the path of a conflict now. It may have been edited since the conflict was met. */
interface Present {
  /** `null` if nothing is there, or if it is a folder. */
  readonly hash: string | null;
  readonly kind: FileShape["kind"] | null;
  readonly size: number;
}

/**
 * The present state, as it was when the conflict was opened here: it stays while somebody edits, even if the path
 * changes meanwhile. `again` then takes what is there now.
 */
function useShown(workspace: string, conflict: ConflictShape) {
  const { data, error } = usePresent(workspace, conflict);
  const [kept, setKept] = useState<Present>();
  const shown = kept ?? data;
  if (kept === undefined && shown !== undefined) setKept(shown);
  const hasChanged = data !== undefined && data.hash !== shown?.hash;
  return { shown, error, again: hasChanged ? () => setKept(data) : undefined };
}

function usePresent(workspace: string, { id, path, path_b64: bytes }: ConflictShape) {
  const on = useWorkspaceApi(workspace);
  return useQuery({
    queryKey: ["workspace", workspace, "present", id],
    queryFn: async (): Promise<Present> => {
      try {
        const { hash, kind, size: length } = await on.file(bytes === undefined ? path : `base64:${bytes}`);
        return { hash: hash === "" ? null : hash, kind, size: length };
      } catch (error) {
        if (error instanceof ChronicleError && error.code === "NOT_FOUND") return { hash: null, kind: null, size: 0 };
        throw error;
      }
    },
    retry: false,
  });
}

interface ConflictContentsProps {
  readonly workspace: string;
  readonly conflict: ConflictShape;
  readonly present: Present;
  readonly sideName: string;
  readonly onMerged: ((text: string) => void) | undefined;
}

function ConflictContents({ workspace, conflict, present, sideName, onMerged }: ConflictContentsProps) {
  const { path, undo_hash, undo_size, undo_kind } = conflict;
  const current = useText(workspace, present.hash ?? "", present.size);
  const undo = useText(workspace, undo_hash, undo_size);
  const error = current.error ?? undo.error;
  if (error !== null) return <Problem error={error} />;
  if (present.kind !== "file" || undo_kind !== "file")
    return (
      <p className="note">
        {present.kind === null ? "The path does not exist now." : `Now it is ${kindWords(present.kind, present.size)}.`}{" "}
        {undo_kind === null ? "The other side removes it." : `The other side is ${kindWords(undo_kind, undo_size)}.`}
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

function kindWords(kind: FileShape["kind"], bytes: number): string {
  if (kind === "dir") return "a folder";
  return kind === "symlink" ? "a link" : `a file of ${size(bytes)}`;
}
