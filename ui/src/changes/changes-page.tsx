import { Navigate, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import type { ChangesShape } from "../../../src/api/action-shapes.ts";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { useChanges, useRecent } from "../data/queries.ts";
import { parseWork, undoOf, type WorkRef, workOf, workText } from "../data/work-ref.ts";
import { Actor } from "../parts/actor.tsx";
import { gitWords } from "../parts/git-words.ts";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { PathText } from "../parts/path-text.tsx";
import { Ago } from "../parts/time.tsx";
import { counted, visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { TakeBack } from "../undo/take-back.tsx";
import { HowUndone, UndoneTag } from "../undo/undone-tag.tsx";
import { ChangedFiles } from "./changed-files.tsx";
import { FileChangeView } from "./file-change-view.tsx";
import { type FileChange, netChanges } from "./net-changes.ts";
import { useSeen } from "./seen.ts";
import "./changes.css";

/** Shows the changes of some work, file by file. Default: the last turn, or the last work if there is no turn. */
export function ChangesPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const search = useSearch({ from: "/w/$workspace/changes" });
  const { work: asked } = search;
  const { data, error } = useRecent(workspace, 60);
  if (asked !== undefined) {
    const work = parseWork(asked);
    if (work === undefined) return <Problem error={new Error(`this address names no work: ${asked}`)} />;
    const item = data?.items.find((one) => workText(workOf(one)) === asked);
    return <Changes key={asked} workspace={workspace} work={work} item={item} />;
  }
  if (data === undefined && error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading />;
  const item = lastWork(data.items);
  if (item === undefined) return <Empty title="Nothing was changed yet" />;
  // The address names the work from now on. Otherwise, the view would go to other work once this work is taken back, or
  // once a newer turn is recorded.
  const named = { ...search, work: workText(workOf(item)) };
  return <Navigate to="/w/$workspace/changes" params={{ workspace }} search={named} replace />;
}

function lastWork(items: readonly RecentItem[]): RecentItem | undefined {
  const changed = items.filter(
    ({ kind, changed: count, undone }) => kind !== "baseline" && count > 0 && undone !== true,
  );
  return changed.find(({ kind }) => kind === "turn") ?? changed[0] ?? items[0];
}

interface ChangesProps {
  readonly workspace: string;
  readonly work: WorkRef;
  readonly item: RecentItem | undefined;
}

function Changes({ workspace, work, item }: ChangesProps) {
  const { file, title: named } = useSearch({ from: "/w/$workspace/changes" });
  const title = item?.summary ?? named;
  const navigate = useNavigate({ from: "/w/$workspace/changes" });
  // A new round begins when all of the work was taken back. It clears the results that the view of a file shows.
  const [round, setRound] = useState(0);
  const { data, error, refetch } = useChanges(workspace, work);
  const changes = useMemo(() => netChanges(data?.changes ?? []), [data]);
  const text = workText(work);
  const seen = useSeen(workspace);
  const current =
    changes.find(({ path }) => path === file) ?? changes.find(({ entry }) => entry !== "dir") ?? changes[0];
  const searchOf = (path: string) => ({ work: text, file: path, ...(title === undefined ? {} : { title }) });
  const step = (by: number): void => {
    const next = changes[Math.max(0, Math.min(changes.length - 1, changes.indexOf(current as FileChange) + by))];
    if (next !== undefined) void navigate({ search: searchOf(next.path), replace: true });
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    v: () => current !== undefined && seen.toggle(current),
    Escape: () => void navigate({ to: "/w/$workspace", params: { workspace }, search: { work: text } }),
  });
  if (data === undefined && error !== null) return <Problem error={error} onAgain={() => void refetch()} />;
  if (data === undefined) return <Loading what="Reading the changes" />;
  return (
    <div className="changes">
      {error === null ? null : <Problem error={error} onAgain={() => void refetch()} />}
      <ChangesHead
        {...{ workspace, work, item }}
        title={title ?? selectionWords(work, data.selection)}
        changes={data}
        onDone={() => setRound(round + 1)}
      />
      <div className="changes-body">
        <nav className="changes-files" aria-label="Changed files">
          <ChangedFiles
            changes={changes}
            current={current?.path}
            seen={seen}
            linkOf={(path) => ({ workspace, search: searchOf(path) })}
          />
          <BesideChanges changes={data} />
        </nav>
        <div className="changes-file">
          {current === undefined ? null : (
            <FileChangeView
              key={`${round} ${current.path}`}
              workspace={workspace}
              change={current}
              undo={undoOf(work)}
              isSeen={seen.has(current)}
              onSeen={() => seen.toggle(current)}
            />
          )}
        </div>
      </div>
    </div>
  );
}

interface ChangesHeadProps extends ChangesProps {
  readonly title: string;
  readonly changes: ChangesShape;
  readonly onDone: () => void;
}

/** Shows a description of the work, and the button that takes all of the work back. */
function ChangesHead({ workspace, work, item, title, changes, onDone }: ChangesHeadProps) {
  return (
    <header className="changes-head">
      <div>
        <h1>{visible(title)}</h1>
        <WorkLine work={work} item={item} changes={changes} />
        <CompareMoments workspace={workspace} work={work} />
      </div>
      <TakeBack workspace={workspace} work={work} item={item} onDone={onDone} />
    </header>
  );
}

interface WorkLineProps {
  readonly work: WorkRef;
  readonly item: RecentItem | undefined;
  readonly changes: ChangesShape;
}

/**
 * Shows who did the work and when, and whether the work was undone. Work without a line of its own has the server's
 * name for it.
 */
function WorkLine({ work, item, changes: { selection, undone } }: WorkLineProps) {
  return (
    <p className="work-line quiet">
      {item === undefined ? (
        visible(selectionWords(work, selection))
      ) : (
        <>
          {item.kind} by <Actor actor={item.actor} who={item.who} /> <Ago at={item.timestamp} />
        </>
      )}
      {undone === "no" && item !== undefined ? <UndoneTag item={item} /> : <HowUndone how={undone} />}
    </p>
  );
}

/** Returns the words for a selection, without ids, because people do not recognise work by its id. */
function selectionWords({ select }: WorkRef, selection: string): string {
  if (select?.until !== undefined) return "everything in a range of the history";
  if (select?.turn !== undefined) return "a turn";
  return select?.session === undefined ? selection : "a session";
}

/** Shows the facts that are not in the list of files: changes of git, paths that may be somebody else's, and notes. */
function BesideChanges({ changes: { git = [], ambiguous, notes = [] } }: { readonly changes: ChangesShape }) {
  return (
    <div className="beside-changes">
      {git.map((change) => (
        <p key={change.path}>
          <span className="tag">git</span> {gitWords(change)}
        </p>
      ))}
      {ambiguous.length === 0 ? null : (
        <details>
          <summary>
            {counted(ambiguous.length, "more path")} may be of this work, or of other work at the same time
          </summary>
          <ul>
            {ambiguous.map((path) => (
              <li key={path}>
                <PathText path={path} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {notes.map((note) => (
        <p key={note} className="quiet">
          {visible(note)}
        </p>
      ))}
    </div>
  );
}

/** Shows what differs between any two moments. */
function CompareMoments({ workspace, work }: { readonly workspace: string; readonly work: WorkRef }) {
  const navigate = useNavigate();
  const [from, setFrom] = useState(work.from ?? "baseline");
  const [to, setTo] = useState(work.to ?? "now");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const text = workText({ from: from.trim(), to: to.trim() });
    void navigate({ to: "/w/$workspace/changes", params: { workspace }, search: { work: text } });
  };
  return (
    <details className="compare">
      <summary>Compare two moments</summary>
      <form onSubmit={submit}>
        <label>
          from <input value={from} onChange={(event) => setFrom(event.target.value)} required spellCheck={false} />
        </label>
        <label>
          to <input value={to} onChange={(event) => setTo(event.target.value)} required spellCheck={false} />
        </label>
        <button type="submit" className="button">
          Compare
        </button>
      </form>
      <p className="quiet">A moment is a snapshot (1, latest, its name), baseline, seq:40, 10m, a time, or now.</p>
    </details>
  );
}
