import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { useRecent, useSessions } from "../data/queries.ts";
import { workOf, workText } from "../data/work-ref.ts";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Command } from "../parts/command.tsx";
import { counted } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { Filters } from "./filters.tsx";
import { Lanes } from "./lanes.tsx";
import { ItemDetail } from "./item-detail.tsx";
import { ItemList } from "./item-list.tsx";
import "./timeline.css";

/** The number of lines that are read at first, and with each "older". The server sends at most 1,000. */
const FIRST = 200;
const MOST = 1_000;

/** Everything that happened, newest first: as lanes over time, and as a list. */
export function Timeline() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { work, at: _playhead, ...filters } = useSearch({ from: "/w/$workspace/" });
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const [limit, setLimit] = useState(FIRST);
  const options = useMemo(() => recentOptions(filters), [filters]);
  const { data, error, refetch, isPlaceholderData } = useRecent(workspace, limit, options);
  const { data: sessions } = useSessions(workspace);
  const items = useMemo(() => data?.items ?? [], [data]);
  const selected = items.find((one) => workText(workOf(one)) === work);
  const select = (item: RecentItem | undefined): void => {
    const text = item === undefined ? undefined : workText(workOf(item));
    void navigate({ search: (before) => withText({ ...before }, "work", text), replace: work !== undefined });
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
    ".": () => step(-1),
    ",": () => step(1),
    Escape: () => select(undefined),
    Enter: () => {
      if (selected === undefined) return;
      const search = { work: workText(workOf(selected)), title: selected.summary };
      void navigate({ to: "/w/$workspace/changes", params: { workspace }, search });
    },
  });
  if (error !== null) return <Problem error={error} onAgain={() => void refetch()} />;
  if (data === undefined) return <Loading what="Reading the history" />;
  const isFiltered = Object.keys(options).length > 0;
  return (
    <div className={selected === undefined ? "timeline" : "timeline with-detail"}>
      <Lanes items={items} sessions={sessions ?? []} selected={selected} onSelect={select} />
      <div className="timeline-body">
        <section className="timeline-list" aria-label="What happened, newest first">
          <Filters items={items} />
          {items.length === 0 ? <NothingFound isFiltered={isFiltered} /> : null}
          <ItemList items={items} selected={selected} onSelect={select} isOld={isPlaceholderData} />
          {items.length >= limit && limit < MOST ? (
            <button type="button" className="button older" onClick={() => setLimit(MOST)}>
              Show older work
            </button>
          ) : null}
          {items.length >= MOST ? (
            <p className="quiet older">These are the newest {counted(MOST, "line")}. Filter to find older work.</p>
          ) : null}
        </section>
        {selected === undefined ? null : (
          <ItemDetail key={selected.id} workspace={workspace} item={selected} onClose={() => select(undefined)} />
        )}
      </div>
    </div>
  );
}

interface TimelineFilters {
  readonly actor?: string;
  readonly kind?: string;
  readonly text?: string;
  readonly file?: string;
}

function recentOptions({ actor, kind, text, file }: TimelineFilters) {
  return {
    ...(actor === undefined ? {} : { actor }),
    ...(kind === undefined ? {} : { kind: kind as RecentItem["kind"] }),
    ...(text === undefined ? {} : { grep: text }),
    ...(file === undefined ? {} : { file }),
  };
}

/** Returns the object with a text set, or without it. */
function withText<Search extends object>(search: Search, name: keyof Search, text: string | undefined): Search {
  const { [name]: _before, ...rest } = search;
  return (text === undefined ? rest : { ...rest, [name]: text }) as Search;
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
