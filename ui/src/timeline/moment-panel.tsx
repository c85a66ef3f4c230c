import { Link } from "@tanstack/react-router";
import { File, Folder, FolderOpen, Pause, Play, SkipBack, SkipForward, X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { useFiles, useFurtherRoots } from "../data/queries.ts";
import { givenPath, readName } from "../parts/given-path.ts";
import { Actor } from "../parts/actor.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { PathText } from "../parts/path-text.tsx";
import { exactTime } from "../parts/time.tsx";
import { digits, visible } from "../parts/words.ts";
import { momentPlan } from "../undo/plan.ts";
import { PlanButton } from "../undo/take-back.tsx";
import type { Playhead } from "./use-playhead.ts";

interface MomentPanelProps {
  readonly workspace: string;
  readonly moment: string;
  readonly playhead: Playhead;
}

/** The time, in milliseconds, between two steps while the history plays. */
const STEP_MS = 900;

/**
 * Shows the files of the moment at which the playhead stands. The files that the work right before this moment changed
 * are highlighted.
 */
export function MomentPanel({ workspace, moment, playhead }: MomentPanelProps) {
  const { item, time, step, put } = playhead;
  return (
    <aside className="detail moment" aria-label="The files at the playhead">
      <header className="detail-head">
        <span className="quiet">{time === undefined ? moment : `After ${exactTime(time)}`}</span>
        <button type="button" className="icon-button" aria-label="Remove the playhead" onClick={() => put(undefined)}>
          <X size={16} aria-hidden="true" />
        </button>
      </header>
      {item === undefined ? null : (
        <p className="moment-work">
          <Actor actor={item.actor} who={item.who} /> <strong>{visible(item.summary)}</strong>
        </p>
      )}
      <div className="detail-actions">
        <button type="button" className="icon-button" aria-label="One step back (,)" onClick={() => step(-1)}>
          <SkipBack size={15} aria-hidden="true" />
        </button>
        <Player onStep={() => step(1)} />
        <button type="button" className="icon-button" aria-label="One step forward (.)" onClick={() => step(1)}>
          <SkipForward size={15} aria-hidden="true" />
        </button>
        <Link to="/w/$workspace/changes" params={{ workspace }} search={{ work: `${moment}..now` }} className="button">
          What changed since
        </Link>
        <PlanButton workspace={workspace} plan={momentPlan(moment, "Restore this moment")} />
      </div>
      <FolderRows workspace={workspace} moment={moment} lit={litPaths(item)} />
    </aside>
  );
}

function Player({ onStep }: { readonly onStep: () => boolean }) {
  const [isOn, setOn] = useState(false);
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => {
      if (!onStep()) setOn(false);
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [isOn, onStep]);
  const Icon = isOn ? Pause : Play;
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={isOn ? "Pause" : "Play the history"}
      aria-pressed={isOn}
      onClick={() => setOn(!isOn)}
    >
      <Icon size={15} aria-hidden="true" />
    </button>
  );
}

/** The highlighted paths, and the folders above them. */
interface Lit {
  readonly paths: ReadonlySet<string>;
  readonly above: ReadonlySet<string>;
}

function litPaths(item: RecentItem | undefined): Lit {
  const paths = new Set(item?.paths.map(({ path }) => path));
  const above = new Set<string>();
  for (const path of paths)
    for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) above.add(path.slice(0, at));
  return { paths, above };
}

interface FolderRowsProps {
  readonly workspace: string;
  readonly moment: string;
  readonly lit: Lit;
  readonly folder?: string;
}

/** The maximum number of entries of one folder that are shown. */
const MOST = 300;

function FolderRows({ workspace, moment, lit, folder }: FolderRowsProps) {
  const { data, error } = useFiles(workspace, {
    depth: 1,
    limit: MOST,
    at: moment,
    ...(folder === undefined ? {} : { path: folder }),
  });
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const roots = useFurtherRoots(workspace);
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading />;
  const rows = data.files.toSorted(
    (a, b) => Number(b.kind === "dir") - Number(a.kind === "dir") || (a.path < b.path ? -1 : 1),
  );
  const toggle = (path: string): void =>
    setToggled((now) => (now.has(path) ? new Set([...now].filter((one) => one !== path)) : new Set([...now, path])));
  const shared = { workspace, moment, lit };
  return (
    <ul className="moment-tree">
      {(folder === undefined ? roots : []).map(({ mark, path }) => (
        <FolderRow key={mark} {...shared} path={mark} isOpen={toggled.has(mark)} onToggle={toggle}>
          <PathText path={path} />
        </FolderRow>
      ))}
      {rows.map((row) => {
        const path = givenPath(row);
        const name = <bdi>{visible(readName(path))}</bdi>;
        const isOpen = lit.above.has(row.path) !== toggled.has(path);
        const isLit = lit.paths.has(row.path);
        if (row.kind === "dir")
          return (
            <FolderRow key={path} {...shared} path={path} isOpen={isOpen} isLit={isLit} onToggle={toggle}>
              {name}
            </FolderRow>
          );
        return (
          <li key={path}>
            <Link
              to="/w/$workspace/file"
              params={{ workspace }}
              search={{ path, n: String(row.iteration) }}
              className={isLit ? "moment-row lit" : "moment-row"}
            >
              <File size={14} aria-hidden="true" /> {name}
            </Link>
          </li>
        );
      })}
      {data.next === null ? null : <li className="quiet moment-row">only the first {digits(MOST)}</li>}
    </ul>
  );
}

interface FolderRowProps extends Omit<FolderRowsProps, "folder"> {
  readonly path: string;
  readonly isOpen: boolean;
  readonly isLit?: boolean;
  readonly onToggle: (path: string) => void;
  readonly children: ReactNode;
}

/** Shows a folder of the tree and, if the folder is open, its entries. */
function FolderRow({ path, isOpen, isLit = false, onToggle, children, ...shared }: FolderRowProps) {
  const Icon = isOpen ? FolderOpen : Folder;
  return (
    <li>
      <button
        type="button"
        className={isLit ? "moment-row lit" : "moment-row"}
        aria-expanded={isOpen}
        onClick={() => onToggle(path)}
      >
        <Icon size={14} aria-hidden="true" /> {children}
      </button>
      {isOpen ? <FolderRows {...shared} folder={path} /> : null}
    </li>
  );
}
