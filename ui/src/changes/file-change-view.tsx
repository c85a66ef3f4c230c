import { Link } from "@tanstack/react-router";
import { Columns2, History, Rows2, Square, SquareCheck, Undo2, WrapText } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState, useSyncExternalStore } from "react";
import type { UndoOptions } from "../../../src/api/workspace-api.ts";
import { useMayChange } from "../data/api.ts";
import { LARGEST_TEXT, useText } from "../data/queries.ts";
import { readPath } from "../parts/given-path.ts";
import { LineCounts, PathText } from "../parts/path-text.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { size, visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { Hunks, PARTS_ID } from "../undo/hunks.tsx";
import { Images } from "./images.tsx";
import type { FileChange } from "./net-changes.ts";

const DiffView = lazy(async () => ({ default: (await import("./diff-view.tsx")).DiffView }));

interface FileChangeViewProps {
  readonly workspace: string;
  readonly change: FileChange;
  /** The undo of the work; `undefined` if the work cannot be taken back in parts. */
  readonly undo: UndoOptions | undefined;
  readonly isSeen: boolean;
  readonly onSeen: () => void;
}

type Layout = "split" | "unified";

const LAYOUT = "chronicle.diff";

/** Matches a window that is wide enough for two states side by side. */
const WIDE = matchMedia("(min-width: 900px)");

/**
 * Returns the layout of differences, and a function that sets it. Until a person sets a layout in this view, the width
 * of the window and earlier choices decide.
 */
function useLayout(): readonly [Layout, (layout: Layout) => void] {
  const [chosen, setChosen] = useState<Layout>();
  const isWide = useSyncExternalStore(
    (listener) => {
      WIDE.addEventListener("change", listener);
      return () => WIDE.removeEventListener("change", listener);
    },
    () => WIDE.matches,
  );
  const layout = isWide && localStorage.getItem(LAYOUT) !== "unified" ? "split" : "unified";
  return [
    chosen ?? layout,
    (next) => {
      localStorage.setItem(LAYOUT, next);
      setChosen(next);
    },
  ];
}

/** Shows one changed file: both states, and the parts that can be taken back. */
export function FileChangeView({ workspace, change, undo, isSeen, onSeen }: FileChangeViewProps) {
  const [layout, setLayout] = useLayout();
  const [isLoose, setLoose] = useState(false);
  const [counts, setCounts] = useState<{ readonly added: number; readonly removed: number }>();
  const mayTakeBack = useMayChange() && undo !== undefined;
  const other = layout === "split" ? "unified" : "split";
  const switchLayout = (): void => setLayout(other);
  useKeys({ s: switchLayout, w: () => setLoose((now) => !now) });
  return (
    <article className="file-change" aria-label={`Changes of ${visible(readPath(change.path))}`}>
      <FileHead
        workspace={workspace}
        change={change}
        counts={counts}
        toggles={{ isSeen, isLoose, isSplit: layout === "split" }}
        onParts={mayTakeBack ? () => focusParts() : undefined}
        onSeen={onSeen}
        onLoose={() => setLoose((now) => !now)}
        onLayout={switchLayout}
      />
      {change.isInterrupted ? (
        <p className="quiet note">Others changed this file in between. The difference below also has their changes.</p>
      ) : null}
      <Contents workspace={workspace} change={change}>
        {(before, after) => (
          <Suspense fallback={<Loading what="Opening the editor" />}>
            <DiffView
              before={before}
              after={after}
              path={change.path}
              layout={layout}
              isLoose={isLoose}
              onCounts={setCounts}
            />
          </Suspense>
        )}
      </Contents>
      {mayTakeBack ? <Hunks workspace={workspace} path={change.path} from={change.from} undo={undo} /> : null}
    </article>
  );
}

/** Goes to the parts of the file that can be taken back, which are below the difference. */
function focusParts(): void {
  const parts = document.getElementById(PARTS_ID);
  parts?.focus({ preventScroll: true });
  parts?.scrollIntoView({ block: "start" });
}

interface FileHeadProps {
  readonly workspace: string;
  readonly change: FileChange;
  readonly counts: { readonly added: number; readonly removed: number } | undefined;
  readonly toggles: { readonly isSeen: boolean; readonly isLoose: boolean; readonly isSplit: boolean };
  /** Absent if nothing can be taken back here. */
  readonly onParts: (() => void) | undefined;
  readonly onSeen: () => void;
  readonly onLoose: () => void;
  readonly onLayout: () => void;
}

function FileHead({ workspace, change, counts, toggles, onParts, onSeen, onLoose, onLayout }: FileHeadProps) {
  const { isSeen, isLoose, isSplit } = toggles;
  return (
    <header className="file-head">
      {change.from === undefined ? null : (
        <>
          <PathText path={change.from} /> <span aria-label="renamed to">→</span>
        </>
      )}
      <PathText path={change.path} />
      {counts === undefined ? null : <LineCounts {...counts} />}
      <Permissions change={change} />
      <span className="grow" />
      {onParts === undefined ? null : (
        <button
          type="button"
          className="button"
          onClick={onParts}
          title="To the parts that can be taken back, below"
          aria-label="Take parts back"
        >
          <Undo2 size={15} aria-hidden="true" />
          <span className="head-words">Take parts back</span>
        </button>
      )}
      <SeenButton isSeen={isSeen} onSeen={onSeen} />
      <button
        type="button"
        className="icon-button"
        aria-pressed={isLoose}
        onClick={onLoose}
        title="Ignore changes of spaces (w)"
        aria-label="Ignore changes of spaces"
      >
        <WrapText size={15} aria-hidden="true" />
      </button>
      <button
        type="button"
        className="icon-button"
        onClick={onLayout}
        title="Side by side, or in line (s)"
        aria-label={isSplit ? "Show in line" : "Show side by side"}
      >
        {isSplit ? <Rows2 size={15} aria-hidden="true" /> : <Columns2 size={15} aria-hidden="true" />}
      </button>
      <Link
        to="/w/$workspace/file"
        params={{ workspace }}
        search={{ path: change.path }}
        className="icon-button"
        title="History of this file"
        aria-label="History of this file"
      >
        <History size={15} aria-hidden="true" />
      </Link>
    </header>
  );
}

function SeenButton({ isSeen, onSeen }: { readonly isSeen: boolean; readonly onSeen: () => void }) {
  return (
    <button
      type="button"
      className="button looked-at"
      aria-pressed={isSeen}
      onClick={onSeen}
      title={isSeen ? "Looked at (v)" : "Mark as looked at (v)"}
      aria-label="Looked at"
    >
      {isSeen ? <SquareCheck size={15} aria-hidden="true" /> : <Square size={15} aria-hidden="true" />}
      <span className="head-words">Looked at</span>
    </button>
  );
}

function Permissions({ change: { permissions } }: { readonly change: FileChange }) {
  if (permissions === undefined) return null;
  return (
    <span className="tag">
      {permissions.before.toString(8)} → {permissions.after.toString(8)}
    </span>
  );
}

interface ContentsProps {
  readonly workspace: string;
  readonly change: FileChange;
  readonly children: (before: string, after: string) => ReactNode;
}

/** Reads both contents. If the contents are no text, shows a description of them. */
function Contents({ workspace, change, children }: ContentsProps) {
  const [isWanted, setWanted] = useState(false);
  const { path, entry, beforeSize, afterSize } = change;
  const isLarge = Math.max(beforeSize, afterSize) > LARGEST_TEXT;
  const before = useText(workspace, change.before, isLarge && !isWanted ? Number.POSITIVE_INFINITY : 0);
  const after = useText(workspace, change.after, isLarge && !isWanted ? Number.POSITIVE_INFINITY : 0);
  if (entry === "dir") return <p className="quiet note">A folder.</p>;
  if (isLarge && !isWanted) return <LargeFile change={change} onWanted={() => setWanted(true)} />;
  const error = before.error ?? after.error;
  if (error !== null) return <Problem error={error} />;
  if (before.data === undefined || after.data === undefined) return <Loading what="Reading the contents" />;
  if (before.data.isBinary || after.data.isBinary)
    return <Images path={path} before={before.data.bytes} after={after.data.bytes} />;
  if (change.before === change.after) return <p className="quiet note">The content is the same.</p>;
  const [a, b] = [before.data.text, after.data.text];
  return (
    <>
      {withoutMarks(a) === withoutMarks(b) ? (
        <p className="quiet note">Only the ends of lines, or the mark at the beginning (BOM), changed.</p>
      ) : null}
      {children(a, b)}
    </>
  );
}

/** Returns the text that the editor compares: all line ends are line feeds, and there is no byte order mark. */
function withoutMarks(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
}

/** The maximum size, in bytes, of a content that can be loaded into the page. */
const LARGEST_LOADED = 32 * 1024 * 1024;

function LargeFile({
  change: { beforeSize, afterSize },
  onWanted,
}: {
  readonly change: FileChange;
  readonly onWanted: () => void;
}) {
  const largest = Math.max(beforeSize, afterSize);
  return (
    <div className="note">
      <p>
        A large file: {size(beforeSize)} before, {size(afterSize)} after.
      </p>
      {largest > LARGEST_LOADED ? (
        <p className="quiet">It is too large to be compared here. In a terminal: chronicle diff</p>
      ) : (
        <button type="button" className="button" onClick={onWanted}>
          Compare it all the same
        </button>
      )}
    </div>
  );
}
