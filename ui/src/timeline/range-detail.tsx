import { Link } from "@tanstack/react-router";
import { GitCompare, X } from "lucide-react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { eventsOf, type WorkRef, workText } from "../data/work-ref.ts";
import { Actor } from "../parts/actor.tsx";
import { exactTime } from "../parts/time.tsx";
import { counted } from "../parts/words.ts";
import { TakeBack } from "../undo/take-back.tsx";
import { DetailFiles } from "./item-detail.tsx";

interface RangeDetailProps {
  readonly workspace: string;
  /** The work of a range. */
  readonly work: WorkRef;
  /** The loaded lines, newest first. */
  readonly items: readonly RecentItem[];
  /** True if filters hide some of the lines. */
  readonly isFiltered: boolean;
  readonly onClose: () => void;
}

/** Shows the details of a range of lines: who did something in it, what was changed, and the button that takes it back. */
export function RangeDetail({ workspace, work, items, isFiltered, onClose }: RangeDetailProps) {
  const { from, to } = eventsOf(work) ?? { from: 0, to: 0 };
  const lines = items.filter((one) => one.to_seq > from && one.from_seq < to);
  const title = lines.length === 0 ? "A range of the history" : counted(lines.length, "line");
  const actors = [...new Map(lines.map((one) => [`${one.who} ${one.actor}`, one])).values()];
  const [newest, oldest] = [lines[0], lines.at(-1)];
  return (
    <aside className="detail" aria-label="The selected range">
      <header className="detail-head">
        <div>
          <span className="quiet">range</span>{" "}
          {actors.map(({ actor, who }) => (
            <span key={`${who} ${actor}`}>
              <Actor actor={actor} who={who} />{" "}
            </span>
          ))}
        </div>
        <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </button>
      </header>
      <h2 className="detail-title">{title}</h2>
      {newest === undefined || oldest === undefined ? null : (
        <p className="quiet">
          {exactTime(Date.parse(oldest.timestamp))} to {exactTime(Date.parse(newest.timestamp))}
        </p>
      )}
      {isFiltered ? (
        <p className="range-note">The range also has the work that the filters hide: it is taken back as well.</p>
      ) : null}
      <div className="detail-actions">
        <Link
          to="/w/$workspace/changes"
          params={{ workspace }}
          search={{ work: workText(work), title }}
          className="button primary"
        >
          <GitCompare size={15} aria-hidden="true" /> See the changes
        </Link>
        <TakeBack workspace={workspace} work={work} item={undefined} />
      </div>
      <DetailFiles workspace={workspace} work={work} title={title} />
    </aside>
  );
}
