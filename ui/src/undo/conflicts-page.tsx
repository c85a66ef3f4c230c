import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { ResolveShape } from "../../../src/api/action-shapes.ts";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import type { FileShape } from "../../../src/api/file-api.ts";
import { ChronicleError } from "../../../src/client/index.ts";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { useText } from "../data/queries.ts";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { digits, size } from "../parts/words.ts";
import { reasonWords } from "./reason-words.ts";
import "./undo.css";

const MergeEditor = lazy(async () => ({ default: (await import("./merge-editor.tsx")).MergeEditor }));

/** The number of conflicts that are listed. */
const MOST = 200;

/** The time for which the buttons rest after a settlement, in milliseconds. The next conflict takes their place. */
const REST_MS = 700;

/** The open conflicts: paths at which an undo, or a sync, did not merge with later work. */
export function ConflictsPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const on = useWorkspaceApi(workspace);
  const [chosen, setChosen] = useState<string>();
  const [last, setLast] = useState<ResolveShape>();
  const [isResting, setResting] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "conflicts", "open"],
    queryFn: () => on.conflicts(),
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading />;
  const wayBack = last === undefined ? null : <Settled key={last.conflict.id} workspace={workspace} last={last} />;
  if (data.length === 0) return <NoConflicts>{wayBack}</NoConflicts>;
  const settling: Settling = {
    isResting,
    onDone: (result) => {
      setLast(result);
      setResting(true);
    },
    onRenewed: () => setTimeout(() => setResting(false), REST_MS),
  };
  const current = data.find(({ id }) => id === chosen) ?? data[0];
  return (
    <div className="conflicts">
      <div className="conflict-side">
        {wayBack}
        <ConflictList conflicts={data} current={current?.id} onChosen={setChosen} />
      </div>
      {current === undefined ? null : (
        <Conflict key={current.id} workspace={workspace} conflict={current} settling={settling} />
      )}
    </div>
  );
}

function NoConflicts({ children }: { readonly children: ReactNode }) {
  return (
    <Empty title="No open conflicts">
      <p className="quiet">If an undo does not merge with later edits, the path stays as it is, and is listed here.</p>
      {children}
    </Empty>
  );
}

interface ConflictListProps {
  readonly conflicts: readonly ConflictShape[];
  readonly current: string | undefined;
  readonly onChosen: (id: string) => void;
}

function ConflictList({ conflicts, current, onChosen }: ConflictListProps) {
  return (
    <nav aria-label="Open conflicts">
      <ul>
        {conflicts.slice(0, MOST).map((one) => (
          <li key={one.id}>
            <button
              type="button"
              className="conflict-line"
              aria-current={one.id === current}
              onClick={() => onChosen(one.id)}
            >
              <PathText path={one.path} />
              <span className="quiet">
                {reasonWords(one)} · <Ago at={one.timestamp} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {conflicts.length > MOST ? <p className="quiet">and {digits(conflicts.length - MOST)} more</p> : null}
    </nav>
  );
}

/** What was settled last, and the way back if a file was changed. */
function Settled({ workspace, last }: { readonly workspace: string; readonly last: ResolveShape }) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const { undo_id: operation, conflict } = last;
  const back = useMutation({
    mutationFn: (id: string) => on.undo({ operation: id }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["workspace", workspace] }),
  });
  if (back.error !== null) return <Problem error={back.error} />;
  return (
    <div className="note settled" role="status">
      <p>
        {back.data === undefined ? "Settled: " : "As it was before: "}
        <PathText path={conflict.path} />
      </p>
      {operation === null || back.data !== undefined ? null : (
        <button type="button" className="button" disabled={back.isPending} onClick={() => back.mutate(operation)}>
          Take that back
        </button>
      )}
    </div>
  );
}

interface Settling {
  /** True just after a settlement, so that a double click does not settle the next conflict, too. */
  readonly isResting: boolean;
  readonly onDone: (result: ResolveShape) => void;
  /** Called when the list of conflicts was read again. */
  readonly onRenewed: () => void;
}

interface ConflictProps {
  readonly workspace: string;
  readonly conflict: ConflictShape;
  readonly settling: Settling;
}

function Conflict({ workspace, conflict, settling }: ConflictProps) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const mayChange = useMayChange();
  const settle = useMutation({
    mutationFn: (options: Parameters<typeof on.resolve>[1]) => on.resolve(conflict.id, options),
    onSuccess: settling.onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: ["workspace", workspace] }).then(settling.onRenewed),
  });
  const isBusy = settle.isPending || settling.isResting;
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
              disabled={isBusy}
              onClick={() => settle.mutate({ keep: "current" })}
            >
              Keep the current state
            </button>
            <button
              type="button"
              className="button"
              disabled={isBusy || shown === undefined}
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
    // A conflict that is opened again begins with what is there then.
    gcTime: 0,
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
