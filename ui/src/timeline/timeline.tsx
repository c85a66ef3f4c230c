import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { keyOf } from "../data/newer-lines.ts";
import { useSessions } from "../data/queries.ts";
import { eventsOf, parseWork, rangeOf, workOf, workText } from "../data/work-ref.ts";
import { useSelected, useTickSelection } from "./use-selected.ts";
import { useTicks } from "./use-ticks.ts";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Command } from "../parts/command.tsx";
import { useKeys } from "../shell/use-keys.ts";
import { Filters } from "./filters.tsx";
import { Lanes } from "./lanes.tsx";
import { ItemDetail } from "./item-detail.tsx";
import { ItemList } from "./item-list.tsx";
import { MomentPanel } from "./moment-panel.tsx";
import { RangeDetail } from "./range-detail.tsx";
import { Unrecorded } from "./unrecorded.tsx";
import { useItems } from "./use-items.ts";
import { type Playhead, usePlayhead } from "./use-playhead.ts";
import "./timeline.css";

/** Shows everything that happened, as lanes over time, and as a list that begins with the newest work. */
export function Timeline() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { work, at, actor, kind, text, file, since } = useSearch({ from: "/w/$workspace/" });
  const options = useMemo(() => recentOptions({ actor, kind, text, file, since }), [actor, kind, text, file, since]);
  const { items, error, isOld, hasOlder, isLoading, loadOlder, again } = useItems(workspace, options);
  const { data: sessions } = useSessions(workspace);
  const ticks = useTicks(workspace);
  const shown = items ?? NONE;
  const isFiltered = Object.keys(options).length > 0;
  const { selected, line, isMissing } = useSelected(workspace, shown, work);
  const ranged = useMemo(() => rangedWork(work), [work]);
  const select = useSelection(workspace, shown, { selected: line, work });
  const selectTick = useTickSelection(workspace, shown);
  const playhead = usePlayhead(shown, ticks?.store);
  useKeys({ ",": () => playhead.step(-1), ".": () => playhead.step(1) });
  if (error !== null && items === undefined) return <Problem error={error} onAgain={again} />;
  if (items === undefined) return <Loading what="Reading the history" />;
  return (
    <div className={(selected ?? ranged ?? at) === undefined ? "timeline" : "timeline with-detail"}>
      <Lanes
        workspace={workspace}
        items={items}
        ticks={ticks}
        sessions={sessions ?? NO_SESSIONS}
        selected={selected}
        isFiltered={isFiltered}
        playhead={playhead}
        onSelect={(item) => select(item)}
        onTick={selectTick}
        onOldest={loadOlder}
      />
      <div className="timeline-body">
        <section className="timeline-list" aria-label="What happened, newest first">
          <Filters items={items} />
          <Unrecorded workspace={workspace} />
          {error === null ? null : <Problem error={error} onAgain={again} />}
          {work !== undefined && isMissing && ranged === undefined ? (
            <NotLoaded workspace={workspace} work={work} />
          ) : null}
          {items.length === 0 ? <NothingFound isFiltered={isFiltered} /> : null}
          <ItemList
            items={items}
            selected={line}
            range={ranged?.events}
            onSelect={select}
            isOld={isOld}
            onEnd={loadOlder}
          />
          {hasOlder ? (
            <button type="button" className="button older" onClick={loadOlder} disabled={isLoading}>
              {isLoading ? "Reading older work…" : "Show older work"}
            </button>
          ) : null}
        </section>
        <Side {...{ workspace, selected, ranged, at, items, isFiltered, playhead }} onClose={() => select(undefined)} />
      </div>
    </div>
  );
}

interface SideProps {
  readonly workspace: string;
  readonly selected: RecentItem | undefined;
  readonly ranged: ReturnType<typeof rangedWork>;
  /** The playhead's moment. */
  readonly at: string | undefined;
  readonly items: readonly RecentItem[];
  readonly isFiltered: boolean;
  readonly playhead: Playhead;
  readonly onClose: () => void;
}

/** Shows the selected work, the selected range, or else the files of the playhead's moment. */
function Side({ workspace, selected, ranged, at, items, isFiltered, playhead, onClose }: SideProps) {
  if (selected !== undefined)
    return <ItemDetail key={keyOf(selected)} workspace={workspace} item={selected} onClose={onClose} />;
  if (ranged !== undefined) return <RangeDetail {...{ workspace, items, isFiltered, onClose }} work={ranged.work} />;
  return at === undefined ? null : <MomentPanel workspace={workspace} moment={at} playhead={playhead} />;
}

/** Shown if the address names work that is older than the loaded lines, or that the filters leave out. */
function NotLoaded({ workspace, work }: { readonly workspace: string; readonly work: string }) {
  return (
    <p className="note quiet">
      The selected work is not among these lines.{" "}
      <Link to="/w/$workspace/changes" params={{ workspace }} search={{ work }} className="button">
        See its changes
      </Link>
    </p>
  );
}

const NONE: readonly RecentItem[] = [];
const NO_SESSIONS: readonly SessionShape[] = [];

/** Returns the selected range of lines; `undefined` if the address names no range. */
function rangedWork(text: string | undefined) {
  const work = text === undefined ? undefined : parseWork(text);
  const events = work === undefined ? undefined : eventsOf(work);
  return work === undefined || events === undefined ? undefined : { work, events };
}

interface Selection {
  /** The selected line. */
  readonly selected: RecentItem | undefined;
  /** The work that the address names. */
  readonly work: string | undefined;
}

interface Ends {
  /** The line at which the range begins. */
  readonly anchor: RecentItem;
  /** The line at which the range ends at present. */
  readonly moving: RecentItem;
  /** The text of the range in the address. */
  readonly work: string;
}

/**
 * Returns a function that selects a line, or everything from the line that was selected last to another one. The
 * address of the page contains the selection. Keys also move the selection.
 */
function useSelection(workspace: string, items: readonly RecentItem[], { selected, work: now }: Selection) {
  const navigate = useNavigate({ from: "/w/$workspace/" });
  // The ends of the range that was selected here last. They are void once the address names other work.
  const chosenEnds = useRef<Ends>(undefined);
  const endsNow = (): Ends | undefined => (chosenEnds.current?.work === now ? chosenEnds.current : undefined);
  const select = (item: RecentItem | undefined, isRange = false): void => {
    const anchor = isRange ? (endsNow()?.anchor ?? selected) : undefined;
    const isOne = item === undefined || anchor === undefined || keyOf(anchor) === keyOf(item);
    const chosen = item === undefined ? undefined : isOne ? workOf(item) : rangeOf(anchor, item);
    const work = chosen === undefined ? undefined : workText(chosen);
    chosenEnds.current =
      item === undefined || work === undefined ? undefined : { anchor: anchor ?? item, moving: item, work };
    void navigate({
      // The panel at the side shows either the selected work or the playhead's moment, so the playhead is removed.
      search: ({ work: _before, at: _playhead, ...rest }) => (work === undefined ? rest : { ...rest, work }),
      replace: now !== undefined,
    });
  };
  const step = (by: number, isRange: boolean): void => {
    const last = endsNow()?.moving ?? selected;
    const key = last === undefined ? undefined : keyOf(last);
    const at = key === undefined ? -1 : items.findIndex((one) => keyOf(one) === key);
    const from = at < 0 && by < 0 ? items.length : at;
    const next = items[Math.max(0, Math.min(items.length - 1, from + by))];
    if (next !== undefined) select(next, isRange);
  };
  useKeys({
    j: () => step(1, false),
    k: () => step(-1, false),
    J: () => step(1, true),
    K: () => step(-1, true),
    ArrowDown: ({ shiftKey }) => step(1, shiftKey),
    ArrowUp: ({ shiftKey }) => step(-1, shiftKey),
    Escape: () => select(undefined),
    Enter: () => {
      if (selected === undefined) return;
      const search = { work: workText(workOf(selected)), title: selected.summary };
      void navigate({ to: "/w/$workspace/changes", params: { workspace }, search });
    },
  });
  return select;
}

interface TimelineFilters {
  readonly actor: string | undefined;
  readonly kind: string | undefined;
  readonly text: string | undefined;
  readonly file: string | undefined;
  readonly since: string | undefined;
}

function recentOptions({ actor, kind, text, file, since }: TimelineFilters) {
  return {
    ...(actor === undefined ? {} : { actor }),
    ...(kind === undefined ? {} : { kind: kind as RecentItem["kind"] }),
    ...(text === undefined ? {} : { grep: text }),
    ...(file === undefined ? {} : { file }),
    ...(since === undefined ? {} : { since }),
  };
}

function NothingFound({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title="Nothing fits these filters">
        <p className="quiet">Remove one of them to see more.</p>
      </Empty>
    );
  return (
    <Empty title="Nothing was recorded yet">
      <p>
        Run something, for example <Command text="chronicle run -- make" />
      </p>
    </Empty>
  );
}
