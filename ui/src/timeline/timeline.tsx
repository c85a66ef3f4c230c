import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { keyOf } from "../data/newer-lines.ts";
import { useSessions } from "../data/queries.ts";
import { workOf, workText } from "../data/work-ref.ts";
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
import { Unrecorded } from "./unrecorded.tsx";
import { useItems } from "./use-items.ts";
import { usePlayhead } from "./use-playhead.ts";
import "./timeline.css";

/** Shows everything that happened, as lanes over time, and as a list that begins with the newest work. */
export function Timeline() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { work, at, actor, kind, text, file } = useSearch({ from: "/w/$workspace/" });
  const options = useMemo(() => recentOptions({ actor, kind, text, file }), [actor, kind, text, file]);
  const { items, error, isOld, hasOlder, isLoading, loadOlder, again } = useItems(workspace, options);
  const { data: sessions } = useSessions(workspace);
  const ticks = useTicks(workspace);
  const shown = items ?? NONE;
  const { selected, line, isMissing } = useSelected(workspace, shown, work);
  const select = useSelection(workspace, shown, line);
  const selectTick = useTickSelection(workspace, shown);
  const playhead = usePlayhead(shown, ticks?.store);
  useKeys({ ",": () => playhead.step(-1), ".": () => playhead.step(1) });
  if (error !== null && items === undefined) return <Problem error={error} onAgain={again} />;
  if (items === undefined) return <Loading what="Reading the history" />;
  return (
    <div className={selected === undefined && at === undefined ? "timeline" : "timeline with-detail"}>
      <Lanes
        workspace={workspace}
        items={items}
        ticks={ticks}
        sessions={sessions ?? NO_SESSIONS}
        selected={selected}
        isFiltered={Object.keys(options).length > 0}
        playhead={playhead}
        onSelect={select}
        onTick={selectTick}
        onOldest={loadOlder}
      />
      <div className="timeline-body">
        <section className="timeline-list" aria-label="What happened, newest first">
          <Filters items={items} />
          <Unrecorded workspace={workspace} />
          {error === null ? null : <Problem error={error} onAgain={again} />}
          {work !== undefined && isMissing ? <NotLoaded workspace={workspace} work={work} /> : null}
          {items.length === 0 ? <NothingFound isFiltered={Object.keys(options).length > 0} /> : null}
          <ItemList items={items} selected={line} onSelect={select} isOld={isOld} onEnd={loadOlder} />
          {hasOlder ? (
            <button type="button" className="button older" onClick={loadOlder} disabled={isLoading}>
              {isLoading ? "Reading older work…" : "Show older work"}
            </button>
          ) : null}
        </section>
        {selected === undefined ? null : (
          <ItemDetail key={keyOf(selected)} workspace={workspace} item={selected} onClose={() => select(undefined)} />
        )}
        {selected === undefined && at !== undefined ? (
          <MomentPanel workspace={workspace} moment={at} playhead={playhead} />
        ) : null}
      </div>
    </div>
  );
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

/**
 * Returns a function that selects a line. The address of the page contains the selection. Keys also move the selection.
 */
function useSelection(workspace: string, items: readonly RecentItem[], selected: RecentItem | undefined) {
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const select = (item: RecentItem | undefined): void => {
    const work = item === undefined ? undefined : workText(workOf(item));
    void navigate({
      // The panel at the side shows either the selected work or the playhead's moment, so the playhead is removed.
      search: ({ work: _before, at: _playhead, ...rest }) => (work === undefined ? rest : { ...rest, work }),
      replace: selected !== undefined,
    });
  };
  const step = (by: number): void => {
    const from = selected === undefined ? (by > 0 ? -1 : items.length) : items.indexOf(selected);
    const next = items[Math.max(0, Math.min(items.length - 1, from + by))];
    if (next !== undefined) select(next);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
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
}

function recentOptions({ actor, kind, text, file }: TimelineFilters) {
  return {
    ...(actor === undefined ? {} : { actor }),
    ...(kind === undefined ? {} : { kind: kind as RecentItem["kind"] }),
    ...(text === undefined ? {} : { grep: text }),
    ...(file === undefined ? {} : { file }),
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
