import { Link } from "@tanstack/react-router";
import { GitCompare, X } from "lucide-react";
import type { ActionShape } from "../../../src/api/action-shapes.ts";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { useChanges } from "../data/queries.ts";
import { type WorkRef, workOf, workText } from "../data/work-ref.ts";
import { ChangedFiles } from "../changes/changed-files.tsx";
import { netChanges } from "../changes/net-changes.ts";
import { Actor } from "../parts/actor.tsx";
import { gitWords } from "../parts/git-words.ts";
import { Command } from "../parts/command.tsx";
import { OutcomeTag } from "../parts/outcome.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { exactTime } from "../parts/time.tsx";
import { counted, visible } from "../parts/words.ts";
import { TakeBack } from "../undo/take-back.tsx";
import { UndoneTag } from "../undo/undone-tag.tsx";

interface ItemDetailProps {
  readonly workspace: string;
  readonly item: RecentItem;
  readonly onClose: () => void;
}

/**
 * Shows the details of one line of the timeline: what was asked, what was changed, and the button that takes the work
 * back.
 */
export function ItemDetail({ workspace, item, onClose }: ItemDetailProps) {
  const work = workOf(item);
  // A baseline is the first recorded state, so there is no earlier state to compare it with.
  const isStart = item.kind === "baseline";
  return (
    <aside className="detail" aria-label="The selected work">
      <header className="detail-head">
        <div>
          <span className="quiet">{item.kind}</span> <Actor actor={item.actor} who={item.who} />{" "}
          <OutcomeTag item={item} /> <UndoneTag item={item} />
        </div>
        <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </button>
      </header>
      <h2 className="detail-title">{visible(item.summary)}</h2>
      <p className="quiet">
        {exactTime(Date.parse(item.timestamp))} · {item.short_id}
        {item.changed_since === undefined ? null : `, changed since ${exactTime(Date.parse(item.changed_since))}`}
      </p>
      <div className="detail-actions">
        {isStart ? null : (
          <Link
            to="/w/$workspace/changes"
            params={{ workspace }}
            search={{ work: workText(work), title: item.summary }}
            className="button primary"
          >
            <GitCompare size={15} aria-hidden="true" /> See the changes
          </Link>
        )}
        <TakeBack workspace={workspace} work={work} item={item} />
      </div>
      <Wider workspace={workspace} item={item} />
      <Git item={item} />
      {isStart ? null : <DetailFiles workspace={workspace} work={work} title={item.summary} />}
      {item.back === "" ? null : (
        <footer className="detail-foot">
          <span className="quiet">In a terminal:</span> <Command text={item.back} />
        </footer>
      )}
    </aside>
  );
}

/** Shows links to the work around the selected work: its whole session, and everything by the same actor. */
function Wider({
  workspace,
  item: { kind, session, actor, who },
}: {
  readonly workspace: string;
  readonly item: RecentItem;
}) {
  const isAgent = who === "agent" || who === "sub-agent";
  if (!isAgent) return null;
  const params = { workspace };
  return (
    <p className="wider">
      {session === undefined || kind === "run" ? null : (
        <Link
          to="/w/$workspace/changes"
          params={params}
          search={{ work: workText({ select: { session } }), title: `The whole session of ${actor}` }}
        >
          The whole session
        </Link>
      )}
      <Link
        to="/w/$workspace/changes"
        params={params}
        search={{ work: workText({ select: { actor } }), title: `Everything by ${actor}` }}
      >
        Everything by {visible(actor)}
      </Link>
      <Link to="/w/$workspace" params={params} search={{ actor }}>
        Only {visible(actor)} in the list
      </Link>
    </p>
  );
}

function Git({ item: { git = [] } }: { readonly item: RecentItem }) {
  if (git.length === 0) return null;
  return (
    <ul className="git-changes">
      {git.map(({ path, messages = [], refs, also }) => (
        <li key={path}>
          <span className="tag">git</span>{" "}
          {messages.length > 0 ? messages.map(visible).join("; ") : gitWords({ refs, also })}
        </li>
      ))}
    </ul>
  );
}

interface DetailFilesProps {
  readonly workspace: string;
  readonly work: WorkRef;
  readonly title: string;
}

/** Shows the files that some work changed, and the actions in it. */
export function DetailFiles({ workspace, work, title }: DetailFilesProps) {
  const { data, error, isPlaceholderData } = useChanges(workspace, work);
  if (error !== null) return <Problem error={error} />;
  if (data === undefined || isPlaceholderData) return <Loading what="Reading the changes" />;
  return (
    <>
      <ChangedFiles
        changes={netChanges(data.changes)}
        linkOf={(file) => ({ workspace, search: { work: workText(work), file, title } })}
      />
      <Beneath actions={data.actions} />
      {(data.notes ?? []).map((note) => (
        <p key={note} className="quiet note">
          {visible(note)}
        </p>
      ))}
    </>
  );
}

function Beneath({ actions }: { readonly actions: readonly ActionShape[] }) {
  if (actions.length === 0) return null;
  return (
    <details className="beneath">
      <summary>{counted(actions.length, "action")}</summary>
      <ol>
        {actions.map(({ id, action_summary: summary, state }) => (
          <li key={id}>
            {visible(summary)} {state === "done" ? null : <span className="tag">{state}</span>}
          </li>
        ))}
      </ol>
    </details>
  );
}
