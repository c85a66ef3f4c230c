import { Link, useParams } from "@tanstack/react-router";
import { Split } from "lucide-react";
import type { GitChangeShape, RestoreShape, UndoShape } from "../../../src/api/shapes.ts";
import { netChanges } from "../changes/net-changes.ts";
import { gitWords } from "../parts/git-words.ts";
import { PathText } from "../parts/path-text.tsx";
import { counted, digits, visible } from "../parts/words.ts";

interface OutcomeProps {
  readonly result: UndoShape | RestoreShape;
  readonly isDone?: boolean;
}

/** The maximum number of paths that are shown in a list. */
const MOST = 60;

/**
 * Shows the result of an undo or a restore, either before or after it is done: the paths that change, the paths that
 * stay as they are, and the paths that do not merge.
 */
export function Outcome({ result, isDone = false }: OutcomeProps) {
  const changes = netChanges(result.changes);
  const unmerged = "unmerged" in result ? result.unmerged : [];
  const notes = [...result.finished, ...("notes" in result ? (result.notes ?? []) : [])];
  const isNothing = changes.length === 0 && (result.git ?? []).length === 0;
  const verb = isDone ? "changed" : "will change";
  return (
    <div className="outcome">
      <p role="status" className={isDone ? (isNothing ? "done-line nothing" : "done-line") : ""}>
        {changes.length === 0
          ? `No file ${isDone ? "was changed" : "will change"}.`
          : `${counted(changes.length, "path")} ${verb}. Everything else stays.`}
      </p>
      <ul className="outcome-paths">
        {changes.slice(0, MOST).map(({ path, kind, from, entry }) => (
          <li key={path} className={kind}>
            <span className="outcome-word">{(isDone ? DONE_WORDS : WORDS)[kind]}</span>{" "}
            {from === undefined ? null : (
              <>
                <PathText path={from} /> <span aria-label="to">→</span>{" "}
              </>
            )}
            <PathText path={path} isFolder={entry === "dir"} />
          </li>
        ))}
        {changes.length > MOST ? <li className="quiet">and {digits(changes.length - MOST)} more</li> : null}
      </ul>
      <Git result={result} />
      <Named
        title={
          isDone
            ? "Conflicts with later edits. In these files, the lines that conflict were left as they are:"
            : "Conflicts with later edits. In these files, the lines that conflict would stay, and the others change:"
        }
        paths={unmerged.map(({ path, reason }) => ({ path, reason: reason === "content" ? "" : reason }))}
      />
      {isDone && unmerged.length > 0 ? <ToConflicts /> : null}
      <Named
        title="Left as they are:"
        paths={result.skipped.map(({ path, reason, detail }) => ({ path, reason: detail ?? reason }))}
      />
      {notes.map((note) => (
        <p key={note} className="quiet">
          {visible(note)}
        </p>
      ))}
    </div>
  );
}

function ToConflicts() {
  const { workspace } = useParams({ strict: false });
  if (workspace === undefined) return null;
  return (
    <Link to="/w/$workspace/conflicts" params={{ workspace }} className="button">
      <Split size={15} aria-hidden="true" /> Settle the conflicts
    </Link>
  );
}

const WORDS = {
  created: "comes back",
  modified: "changes",
  deleted: "is removed",
  permissions: "permissions",
  renamed: "is renamed",
} as const;

const DONE_WORDS = {
  created: "came back",
  modified: "changed",
  deleted: "was removed",
  permissions: "permissions",
  renamed: "was renamed",
} as const;

function Git({ result: { git = [] } }: { readonly result: UndoShape | RestoreShape }) {
  if (git.length === 0) return null;
  return (
    <ul className="outcome-paths">
      {git.map((change) => (
        <li key={change.path}>
          <span className="tag">git</span> {gitText(change)}
        </li>
      ))}
    </ul>
  );
}

function gitText({ head_before: before, head_after: after, refs, also }: GitChangeShape): string {
  const [from, to] = [before, after].map(({ branch = "", commit }) =>
    `${branch} ${commit?.slice(0, 7) ?? "none"}`.trim(),
  );
  if (from !== to) return `HEAD ${from} → ${to}`;
  return gitWords({ refs, also });
}

interface NamedProps {
  readonly title: string;
  readonly paths: readonly { readonly path: string; readonly reason: string }[];
}

function Named({ title, paths }: NamedProps) {
  if (paths.length === 0) return null;
  return (
    <div className="outcome-left">
      <p>{title}</p>
      <ul className="outcome-paths">
        {paths.slice(0, MOST).map(({ path, reason }) => (
          <li key={path}>
            <PathText path={path} /> <span className="quiet">{reason}</span>
          </li>
        ))}
        {paths.length > MOST ? <li className="quiet">and {digits(paths.length - MOST)} more</li> : null}
      </ul>
    </div>
  );
}
