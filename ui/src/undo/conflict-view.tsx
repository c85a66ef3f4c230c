import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { ResolveShape } from "../../../src/api/action-shapes.ts";
import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import { ChronicleError } from "../../../src/client/index.ts";
import { Images } from "../changes/images.tsx";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import { LARGEST_TEXT, useIterations, useText } from "../data/queries.ts";
import { givenPath } from "../parts/given-path.ts";
import { PathText } from "../parts/path-text.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { size } from "../parts/words.ts";
import { conflictWords, type ConflictWords, type Present, sideName } from "./conflict-words.ts";
import { lineEndsOf, withPlainEnds } from "./line-ends.ts";
import { reasonWords } from "./reason-words.ts";

const MergeEditor = lazy(async () => ({ default: (await import("./merge-editor.tsx")).MergeEditor }));
const DiffView = lazy(async () => ({ default: (await import("../changes/diff-view.tsx")).DiffView }));

export interface Settling {
  /**
   * True for a short time after a conflict was settled, so that a double click does not also settle the next conflict.
   */
  readonly isResting: boolean;
  readonly onDone: (result: ResolveShape) => void;
  /** Called once the list of conflicts has been read again. */
  readonly onRenewed: () => void;
}

interface ConflictProps {
  readonly workspace: string;
  readonly conflict: ConflictShape;
  readonly settling: Settling;
}

/** Shows one conflict: its two sides, and the ways to settle it. */
export function Conflict({ workspace, conflict, settling }: ConflictProps) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const mayChange = useMayChange();
  const settle = useMutation({
    mutationFn: (options: Parameters<typeof on.resolve>[1]) => on.resolve(conflict.id, options),
    onSuccess: settling.onDone,
    onSettled: () => renewWorkspace(queries, workspace).then(settling.onRenewed),
  });
  const isBusy = settle.isPending || settling.isResting;
  const { shown, error, again } = useShown(workspace, conflict);
  const seen = shown === undefined ? {} : { seen: shown.hash };
  const merge = (text: string): void =>
    settle.mutate({ keep: "merged", content: new TextEncoder().encode(text), ...seen });
  const words = shown === undefined ? undefined : conflictWords(conflict, shown);
  return (
    <section className="conflict" aria-label={`Conflict at ${conflict.path}`}>
      <header className="conflict-head">
        <h1>
          <PathText path={conflict.path} />
        </h1>
        <span className="quiet">{reasonWords(conflict)}</span>
        <span className="grow" />
        {mayChange && words !== undefined ? (
          <WholeChoices
            words={words}
            isBusy={isBusy}
            onKeep={() => settle.mutate({ keep: "current" })}
            onTake={() => settle.mutate({ keep: "undo", ...seen })}
          />
        ) : null}
      </header>
      {settle.error === null ? null : <Problem error={settle.error} />}
      {error === null ? null : <Problem error={error} />}
      {again === undefined ? null : <ChangedSince onAgain={again} />}
      {words?.what === undefined ? null : <p className="note">{words.what}</p>}
      {conflict.detail === undefined ? null : <p className="note quiet">{conflict.detail}</p>}
      <RenamedFrom workspace={workspace} conflict={conflict} />
      {shown === undefined ? null : (
        <Contents
          workspace={workspace}
          conflict={conflict}
          present={shown}
          isBusy={isBusy}
          onMerged={mayChange ? merge : undefined}
        />
      )}
    </section>
  );
}

interface WholeChoicesProps {
  readonly words: ConflictWords;
  readonly isBusy: boolean;
  readonly onKeep: () => void;
  readonly onTake: () => void;
}

function WholeChoices({ words: { keep, take, isRemoval }, isBusy, onKeep, onTake }: WholeChoicesProps) {
  return (
    <>
      <button type="button" className="button" disabled={isBusy} onClick={onKeep}>
        {keep}
      </button>
      <button type="button" className={isRemoval ? "button danger" : "button"} disabled={isBusy} onClick={onTake}>
        {take}
      </button>
    </>
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

/**
 * For a file that the undo would remove, shows the name that the file had before it was renamed. The undo brings back
 * the file with the earlier name.
 */
function RenamedFrom({ workspace, conflict }: Omit<ConflictProps, "settling">) {
  if (conflict.cause === "sync" || conflict.undo_kind !== null) return null;
  return <EarlierName workspace={workspace} path={givenPath(conflict)} />;
}

function EarlierName({ workspace, path }: { readonly workspace: string; readonly path: string }) {
  const { data = [] } = useIterations(workspace, path);
  const from = data.findLast(({ renamed_from: earlier }) => earlier !== undefined)?.renamed_from;
  if (from === undefined) return null;
  return (
    <p className="note">
      It was renamed from{" "}
      <Link to="/w/$workspace/file" params={{ workspace }} search={{ path: givenPath(from) }} className="inline-link">
        <PathText path={from.path} />
      </Link>
      . The undo brings the earlier name back. This one was edited since, so both can stay.
    </p>
  );
}

/**
 * Returns the state that the path had when the conflict was opened on this page. This state stays while a person edits
 * the result, even if the path changes meanwhile. If the path has changed, `again` takes its present state.
 */
function useShown(workspace: string, conflict: ConflictShape) {
  const { data, error } = usePresent(workspace, conflict);
  const [kept, setKept] = useState<Present>();
  const shown = kept ?? data;
  if (kept === undefined && shown !== undefined) setKept(shown);
  const hasChanged = data !== undefined && data.hash !== shown?.hash;
  return { shown, error, again: hasChanged ? () => setKept(data) : undefined };
}

const NOTHING: Present = { hash: null, kind: null, size: 0, permissions: 0 };

function usePresent(workspace: string, conflict: ConflictShape) {
  const on = useWorkspaceApi(workspace);
  return useQuery({
    queryKey: ["workspace", workspace, "present", conflict.id],
    queryFn: async (): Promise<Present> => {
      try {
        const { hash, kind, size: length, permissions } = await on.file(givenPath(conflict));
        return { hash: hash === "" ? null : hash, kind, size: length, permissions };
      } catch (error) {
        if (error instanceof ChronicleError && error.code === "NOT_FOUND") return NOTHING;
        throw error;
      }
    },
    // If a conflict is opened again, it begins with the state that the path has then.
    gcTime: 0,
    retry: false,
  });
}

interface ContentsProps {
  readonly workspace: string;
  readonly conflict: ConflictShape;
  readonly present: Present;
  readonly isBusy: boolean;
  readonly onMerged: ((text: string) => void) | undefined;
}

/** Shows the contents of both sides: in the editor, as links, as pictures, or in words. */
function Contents(props: ContentsProps) {
  const { workspace, conflict, present } = props;
  const { path, undo_hash: hash, undo_size: length, undo_kind: there } = conflict;
  const [here, isLarge] = [present.kind, Math.max(length, present.size) > LARGEST_TEXT];
  const most = isLarge || here === "dir" || there === "dir" ? Number.POSITIVE_INFINITY : 0;
  const current = useText(workspace, present.hash ?? "", most);
  const other = useText(workspace, hash, most);
  const error = current.error ?? other.error;
  if (here === "dir" || there === "dir") return null;
  if (isLarge) return <TooLarge conflict={conflict} present={present} />;
  if (error !== null) return <Problem error={error} />;
  if (current.data === undefined || other.data === undefined) return <Loading what="Reading the contents" />;
  const [a, b] = [current.data, other.data];
  if (a.isBinary || b.isBinary) return <Binary path={path} sides={[a.bytes, b.bytes]} name={sideName(conflict)} />;
  if (here === "symlink" && there === "symlink")
    return (
      <dl className="note link-targets">
        <dt>Now, it points to</dt>
        <dd>
          <PathText path={a.text} />
        </dd>
        <dt>In {sideName(conflict)} state, to</dt>
        <dd>
          <PathText path={b.text} />
        </dd>
      </dl>
    );
  if (here !== there)
    return (
      <Suspense fallback={<Loading what="Opening the text" />}>
        <DiffView before={a.text} after={b.text} path={path} layout="unified" isLoose={false} onCounts={ignore} />
      </Suspense>
    );
  if (hash === present.hash) return null;
  return <Merging {...props} current={a.text} other={b.text} />;
}

function ignore(): void {
  // The counts of lines are not shown here.
}

interface MergingProps extends ContentsProps {
  readonly current: string;
  readonly other: string;
}

/** Shows the editor, once the text from which both sides come (the base) has been read. */
function Merging({ workspace, conflict, present, isBusy, onMerged, current, other }: MergingProps) {
  const isSync = conflict.cause === "sync";
  // For an undo, the base is the text that the undo left. The present text differs from this base only by later edits,
  // which stay.
  const [hash, length] = isSync ? [conflict.base_hash ?? "", 0] : [conflict.current_hash, conflict.current_size];
  const isOwn = hash === "" || hash === present.hash || length > LARGEST_TEXT;
  const base = useText(workspace, isOwn ? "" : hash, 0);
  if (base.isPending) return <Loading what="Reading the contents" />;
  // The base is missing if it was pruned. In this case, the two sides are only compared with each other.
  const text = isOwn || base.data?.isBinary === true ? undefined : base.data?.text;
  const ends = <LineEnds current={current} other={other} name={sideName(conflict)} />;
  if (withPlainEnds(current) === withPlainEnds(other)) return ends;
  return (
    <>
      {ends}
      <Suspense fallback={<Loading what="Opening the editor" />}>
        <MergeEditor
          path={conflict.path}
          base={text}
          current={current}
          other={other}
          otherName={sideName(conflict)}
          mergesOther={isSync && text !== undefined}
          isBusy={isBusy}
          onMerged={onMerged}
        />
      </Suspense>
    </>
  );
}

/** Says which line ends the result has, if the line ends of the two sides differ. */
function LineEnds({
  current,
  other,
  name,
}: {
  readonly current: string;
  readonly other: string;
  readonly name: string;
}) {
  const [here, there] = [lineEndsOf(current), lineEndsOf(other)];
  if (here === there || here === "none" || there === "none") return null;
  const isOnly = withPlainEnds(current) === withPlainEnds(other);
  const rest = isOnly ? "Nothing else differs: keep one of the two states." : "The result keeps what is there now.";
  return (
    <p className="note">
      The ends of lines differ: {here} now, {there} in {name} state. {rest}
    </p>
  );
}

function TooLarge({ conflict, present }: { readonly conflict: ConflictShape; readonly present: Present }) {
  return (
    <p className="note quiet">
      Too large to be merged here: {size(present.size)} now, {size(conflict.undo_size)} in {sideName(conflict)} state.
      Keep one of the two, or give a result in a terminal: chronicle resolve {conflict.id.slice(0, 8)} --merged FILE
    </p>
  );
}

interface BinaryProps {
  readonly path: string;
  readonly sides: readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];
  readonly name: string;
}

function Binary({ path, sides: [current, other], name }: BinaryProps) {
  return (
    <>
      <p className="note">A binary content does not merge. Keep one of the two states.</p>
      <Images path={path} before={current} after={other} names={["now", `in ${name} state`]} />
    </>
  );
}
